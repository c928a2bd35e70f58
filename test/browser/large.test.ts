/** Ten thousand links and a busy one: only rows in view are rendered, and every link can be found. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';
import { busyAlias, type LargeTerse, startLargeTerse } from './kit/large-terse.ts';

const links = 10_000;
// Searches include a part of the path, because a number alone may be in one of ten thousand random codes.
/** The rows on a screen and the spare ones around it. */
const rowsMax = 60;

await describeInBrowser('the dashboard with ten thousand links', browser => {
  let large: LargeTerse;
  let tab: Tab;
  beforeAll(async () => {
    large = await startLargeTerse({ links, days: 3 });
    tab = await openTab(browser(), large.url, { hasMotion: true });
    await signIn(tab, '/dashboard/links');
    await tab.page.getByText('10,000 links').waitFor();
  });
  afterAll(async () => {
    await tab.context.close();
    await large.stop();
  });

  test('the list is as high as all its rows, and renders only those in view', async () => {
    const { page } = tab;
    for (const share of [0, 0.5, 1]) {
      await page.evaluate(`scrollTo(0, document.documentElement.scrollHeight * ${share})`);
      // The last row, the first, or the one in the middle: when it is there, the page has followed the scrolling.
      const position = Math.max(1, Math.round(links * share));
      await page.locator(`.link-row[aria-posinset="${position}"]`).waitFor();
      const count = await page.locator('.link-row').count();
      expect(count).toBeWithin(9, rowsMax);
    }
  });

  test('a search finds one among them as it is typed', async () => {
    const { page } = tab;
    await page.keyboard.press('/');
    await page.keyboard.type('number articles/9996');
    await page.getByText('1 of 10,000 links').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('searchbox').fill('');
  });

  test('all matching links can be selected and tagged together', async () => {
    const { page } = tab;
    const found = page.getByText('4 of 10,000 links');
    await page.getByRole('searchbox').fill('number articles/999');
    await found.waitFor();
    await page.getByRole('checkbox').first().check();
    await page.getByRole('button', { name: /Select all/ }).click();
    await page.getByLabel('Selected links').getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Add tags').fill('late,');
    await page.getByRole('button', { name: 'Change 4 links' }).click();
    await page.getByText('4 links changed').waitFor();
    await page.getByLabel('Selected links').waitFor({ state: 'detached' });
    await page.getByRole('searchbox').fill('');
    await found.waitFor({ state: 'detached' });
    await page.getByLabel('Tag', { exact: true }).selectOption('late');
    await found.waitFor();
  });

  test('dragging across the chart zooms down to single minutes, and back', async () => {
    const { page } = tab;
    await page.goto(`/dashboard/links/${busyAlias}?range=24h`);
    const plot = page.locator('.chart-plot .u-over');
    await plot.waitFor();
    const box = (await plot.boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.4, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.55, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.getByRole('button', { name: 'Reset' }).waitFor();
    expect(page.url()).toContain('zoomFrom=');
    expect(await page.getByLabel('Interval', { exact: true }).inputValue()).toBe('minute');
    await page.getByRole('button', { name: 'Reset' }).click();
    await page.getByRole('button', { name: 'Reset' }).waitFor({ state: 'detached' });
  });

  test('there were no console errors', () => {
    expect({ consoleErrors: tab.consoleErrors, foreignRequests: tab.foreignRequests }).toEqual({
      consoleErrors: [],
      foreignRequests: [],
    });
  });
});
