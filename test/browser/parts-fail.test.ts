/** Parts of a page that fail or are late: finished changes stay, old numbers are marked, and failed parts recover. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';
import { type SeededTerse, startSeededTerse } from './kit/seeded-terse.ts';
import { storyNowMs } from './kit/story.ts';

await describeInBrowser('a part that fails', browser => {
  let seeded: SeededTerse;
  const tabs: Tab[] = [];
  const open = async (options: { width?: number; height?: number; nowMs?: number } = {}) => {
    const tab = await openTab(browser(), seeded.url, options);
    tabs.push(tab);
    await signIn(tab);
    return tab.page;
  };
  beforeAll(async () => {
    seeded = await startSeededTerse();
  });
  afterEach(async () => {
    for (const { context } of tabs.splice(0)) await context.close();
  });
  afterAll(() => seeded.stop());

  test('the first thousand links stay changed when the call for the others fails, and those stay selected', async () => {
    for (let from = 0; from < 1_100; from += 100) {
      const links = Array.from({ length: 100 }, (_, at) => ({
        longUrl: `https://example.com/${from + at}`,
        tags: ['thousand'],
      }));
      await seeded.call('POST', '/api/v1/links/bulk', { body: { links } });
    }
    const page = await open({ nowMs: storyNowMs });
    await page.goto('/dashboard/links?tag=thousand');
    await page.getByText(/^1,100 of/).waitFor();
    let calls = 0;
    await page.route('**/api/v1/links/bulk', route => {
      calls += 1;
      return calls === 2
        ? route.fulfill({ status: 503, json: { code: 'overloaded', detail: 'The server is busy.' } })
        : route.continue();
    });
    await page.getByRole('checkbox').first().check();
    await page.getByRole('button', { name: 'Select all 1,100' }).click();
    await page.getByLabel('Selected links').getByRole('button', { name: 'Disable' }).click();
    await page.getByText('1,000 links disabled').waitFor();
    await page.getByText('The server is busy.').waitFor();
    await page.getByLabel('Selected links').getByText('100 selected').waitFor();
    const { body } = await seeded.call('GET', '/api/v1/links?tag=thousand&status=disabled&total=true');
    expect(body.total).toBe(1_000);
  });

  test('numbers of the previous choice are marked as old until the new ones arrive', async () => {
    const page = await open({ nowMs: storyNowMs });
    await page.goto('/dashboard/links/autumn');
    const numbers = page.locator('.stats-numbers');
    await page.locator('.stats[aria-busy=false] .stats-numbers[data-stale=false]').waitFor();
    const before = await numbers.locator('.figure-value').first().innerText();
    const late = Promise.withResolvers<void>();
    await page.route(/\/stats\?.*country=/, route => late.promise.then(() => route.continue()));
    await page.locator('[data-dimension=country] .bar-row').first().click();
    await page.locator('.stats[aria-busy=true] .stats-numbers[data-stale=true]').waitFor();
    expect(await numbers.locator('.figure-value').first().innerText()).toBe(before);
    late.resolve();
    await page.locator('.stats[aria-busy=false] .stats-numbers[data-stale=false]').waitFor();
    expect(await numbers.locator('.figure-value').first().innerText()).not.toBe(before);
  });

  test('a live view that is rejected connects again after a while', async () => {
    const page = await open();
    await page.clock.install();
    let asked = 0;
    await page.route('**/live', route => {
      asked += 1;
      return asked === 1 ? route.fulfill({ status: 503, body: '' }) : route.continue();
    });
    await page.goto('/dashboard/links/autumn');
    await page.getByText('connecting…').waitFor();
    expect(asked).toBe(1);
    await page.clock.fastForward(10_000);
    await page.getByText('since you opened this page').waitFor();
    expect(asked).toBe(2);
  });

  test('a map that cannot be loaded is loaded on request, and the rest of the page is there', async () => {
    const page = await open({ nowMs: storyNowMs });
    await page.route(/\/world[^/]*\.json$/, route => route.abort());
    await page.goto('/dashboard/links/autumn');
    const places = page.locator('[data-dimension=country]');
    const retry = places.getByRole('button', { name: 'Try again' });
    await retry.waitFor();
    await places.locator('.bar-row').first().waitFor();
    await page.unrouteAll();
    await retry.click();
    await places.locator('.map path').first().waitFor({ state: 'attached' });
  });

  test('on a phone, badges of links and of clicks are not cut off', async () => {
    const page = await open({ width: 390, height: 844, nowMs: storyNowMs });
    const isInView = async (text: string, within: string): Promise<void> => {
      const badge = page.locator(`${within} .badge`, { hasText: text }).first();
      await badge.scrollIntoViewIfNeeded();
      const { x, y, width, height } = (await badge.boundingBox())!;
      expect(width).toBeGreaterThan(20);
      // Nothing covers or clips the badge: its outermost points belong to it.
      for (const across of [x + 2, x + width - 2])
        expect(
          await page.evaluate(
            `document.elementsFromPoint(${across}, ${y + height / 2}).find(each => each.matches('.badge'))?.textContent`,
          ),
        ).toBe(text);
    };
    await page.goto('/dashboard/links');
    await isInView('Disabled', '.link-row');
    // The code beside it is not cut off in favour of a tag.
    const code = "document.querySelector('.link-row:has(.badge) .row-link')";
    expect(await page.evaluate(`${code}.scrollWidth <= ${code}.clientWidth`)).toBe(true);
    await page.goto('/dashboard/links/autumn?bot=bot');
    await isInView('Bot', '.log-table');
  });
});
