/** Exploring statistics: filters, ranges, zones, comparisons and lists, on a desktop and on a phone. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';
import { type SeededTerse, startSeededTerse } from './kit/seeded-terse.ts';
import { statisticsShown } from './kit/statistics-page.ts';
import { storyNowMs } from './kit/story.ts';

const screens = [
  ['a desk', { width: 1280, height: 860 }],
  ['a phone', { width: 390, height: 844 }],
] as const;

const row = (page: Page, dimension: string, value: string) =>
  page.locator(`[data-dimension=${dimension}] .bar-row[data-value="${value}"]`);
const chip = (page: Page, name: string) => page.getByRole('button', { name: `Remove the filter ${name}` });
const queryOf = (page: Page): Record<string, string> =>
  Object.fromEntries(new URL(page.url()).searchParams.entries());

await describeInBrowser('exploring statistics', browser => {
  let seeded: SeededTerse;
  beforeAll(async () => {
    seeded = await startSeededTerse();
  });
  afterAll(() => seeded.stop());

  describe.each(screens)('on %s', (_screen, size) => {
    let tab: Tab;
    let page: Page;
    beforeAll(async () => {
      tab = await openTab(browser(), seeded.url, { ...size, nowMs: storyNowMs });
      ({ page } = tab);
      await signIn(tab);
    });
    afterAll(() => tab.context.close());

    const api = async (path: string) => (await seeded.call('GET', `/api/v1/${path}`)).body;

    test('a row that is clicked filters all of the page, also after a reload, until its chip is removed', async () => {
      await page.goto('/dashboard/links/autumn');
      const before = await statisticsShown(page);
      const [value, clicks] = before.lists.country![1]!;
      await row(page, 'country', value).click();
      await page.locator('.filter-chip').waitFor();
      const filtered = await statisticsShown(page);
      expect(filtered.figures.Clicks).toBe(clicks);
      expect(filtered.lists.country).toEqual([[value, clicks]]);
      expect(filtered.lists.device!.reduce((sum, [, count]) => sum + count, 0)).toBe(clicks);
      expect(queryOf(page)).toEqual({ country: value });
      const table = await page.getByRole('link', { name: 'CSV' }).getAttribute('href');
      expect(new URL(table!, seeded.url).searchParams.get('country')).toBe(value);
      await page.reload();
      expect(await statisticsShown(page)).toEqual(filtered);
      await page.locator('.filter-chip').click();
      await page.locator('.filter-chip').waitFor({ state: 'detached' });
      // The keyboard focus stays where the chip was.
      expect(await page.evaluate("document.activeElement.closest('.stats-toolbar') !== null")).toBe(true);
      expect(await statisticsShown(page)).toEqual(before);
    });

    test('rows of several lists combine, by keyboard too, and Back removes the last one', async () => {
      await page.goto('/dashboard?range=30d');
      await statisticsShown(page);
      await row(page, 'device', 'desktop').focus();
      await page.keyboard.press('Enter');
      await chip(page, 'Device: Desktop').waitFor();
      await statisticsShown(page);
      await row(page, 'via', '').focus();
      await page.keyboard.press('Space');
      await chip(page, 'Found by: Clicks on the link').waitFor();
      const { figures } = await statisticsShown(page);
      const sent = await api(
        'stats?from=2026-09-15T22:00:00Z&to=2026-10-15T22:00:00Z&device=desktop&via=&timeZone=Europe/Berlin',
      );
      expect(figures.Clicks).toBe(sent.range.clicks);
      expect(figures.Visitors).toBe(sent.range.visitors);
      await page.goBack();
      await chip(page, 'Found by: Clicks on the link').waitFor({ state: 'detached' });
      await chip(page, 'Device: Desktop').waitFor();
    });

    test('a country on the map is a filter, by click and by keyboard', async () => {
      await page.goto('/dashboard/links/autumn');
      await statisticsShown(page);
      await page.locator('.map [data-country=BR]').click();
      await chip(page, 'Country: Brazil').waitFor();
      await statisticsShown(page);
      await page.locator('.map [data-country=BR]').focus();
      await page.keyboard.press('Enter');
      await page.locator('.filter-chip').waitFor({ state: 'detached' });
      await statisticsShown(page);
      const first = page.locator('.map [tabindex="0"]');
      await first.focus();
      await page.keyboard.press('ArrowRight');
      const second = await page.evaluate('document.activeElement.dataset.country');
      expect(second).not.toBe(await first.getAttribute('data-country'));
      await page.keyboard.press('Enter');
      await page.locator('.filter-chip').waitFor();
      expect(queryOf(page)).toEqual({ country: second as string });
    });

    test('the whole list is searched by name, and several of its values are chosen', async () => {
      await page.goto('/dashboard/links/autumn');
      await statisticsShown(page);
      await page.getByRole('button', { name: 'Show all: Countries' }).click();
      const dialog = page.getByRole('dialog', { name: 'Countries' });
      const rows = dialog.locator('.bar-row');
      await rows.first().waitFor();
      const all = await api('links/autumn/stats/country?interval=day&timeZone=Europe/Berlin');
      expect(await rows.count()).toBe(all.total);
      expect(all.total).toBeGreaterThan(9);
      await dialog.getByRole('searchbox').fill('german');
      await dialog.getByText('1 value', { exact: true }).waitFor();
      await rows.click();
      await dialog.getByRole('searchbox').fill('franc');
      await rows.filter({ hasText: 'France' }).click();
      // The focus is on the row: letters must not reach the shortcuts of the page behind the dialog.
      await page.keyboard.type('de');
      expect(await page.getByRole('dialog').count()).toBe(1);
      expect((await api('links/autumn')).status).toBe('active');
      await dialog.getByRole('button', { name: 'Done' }).click();
      await chip(page, 'Country: Germany or France').waitFor();
      const { lists, figures } = await statisticsShown(page);
      const both = await api('links/autumn/stats?country=DE,FR&timeZone=Europe/Berlin');
      expect(lists.country!.map(([value]) => value).sort()).toEqual(['DE', 'FR']);
      expect(figures.Clicks).toBe(both.range.clicks);
    });

    test('a range is chosen by keyboard, days by the calendar, and both are in the address', async () => {
      await page.goto('/dashboard/links/autumn');
      await statisticsShown(page);
      const picker = page.getByRole('button', { name: /^Time range/ });
      await picker.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'Time range' }).waitFor();
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Time range: Last 7 days' }).waitFor();
      expect(queryOf(page)).toEqual({ range: '7d' });
      await picker.click();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog', { name: 'Time range' }).waitFor({ state: 'detached' });
      await picker.click();
      await page.getByLabel('To', { exact: true }).fill('2026-10-02');
      await page.getByLabel('From', { exact: true }).fill('2026-10-05');
      await page.getByText('The first day is after the last one.').waitFor();
      await page.getByLabel('From', { exact: true }).fill('2016-10-05');
      await page.getByText('At most 2,230 days.').waitFor();
      await page.getByLabel('From', { exact: true }).fill('2026-10-01');
      await page.getByLabel('To', { exact: true }).fill('2026-10-03');
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByRole('button', { name: 'Time range: Oct 1, 2026 – Oct 3, 2026' }).waitFor();
      const { figures } = await statisticsShown(page);
      const { range } = await api(
        'links/autumn/stats?from=2026-09-30T22:00:00Z&to=2026-10-03T22:00:00Z&timeZone=Europe/Berlin',
      );
      expect(figures.Clicks).toBe(range.clicks);
      await page.goBack();
      await page.getByRole('button', { name: 'Time range: Last 7 days' }).waitFor();
    });

    test('a zone is found by its name, and days begin there', async () => {
      await page.goto('/dashboard/links/autumn?range=yesterday');
      await statisticsShown(page);
      await page.getByRole('button', { name: 'Time zone: Europe/Berlin' }).click();
      await page.keyboard.type('tokyo');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Time zone: Asia/Tokyo' }).waitFor();
      expect(queryOf(page)).toEqual({ range: 'yesterday', zone: 'Asia/Tokyo' });
      const { figures } = await statisticsShown(page);
      const { range } = await api(
        'links/autumn/stats?from=2026-10-13T15:00:00Z&to=2026-10-14T15:00:00Z&timeZone=Asia/Tokyo&interval=hour',
      );
      expect(figures.Clicks).toBe(range.clicks);
    });

    test('numbers are compared with the previous period, the previous year or matching weekdays', async () => {
      for (const [name, from] of [
        ['Previous period', '2026-10-01T22:00:00.000Z'],
        ['Previous year', '2025-10-08T22:00:00.000Z'],
        ['Matching weekdays', '2026-10-01T22:00:00.000Z'],
      ] as const) {
        await page.goto('/dashboard/links/get-app?range=7d&interval=day');
        await statisticsShown(page);
        const answer = page.waitForResponse(
          response =>
            response.ok() && response.url().includes('/stats?') && response.url().includes('compare'),
        );
        await page.getByLabel('Compare', { exact: true }).selectOption(name);
        const { comparison } = await (await answer).json();
        expect([name, comparison.from, comparison.series.length]).toEqual([name, from, 7]);
        await page.locator('.legend').getByText(name).waitFor();
        const before = comparison.clicks.toLocaleString('en');
        const change = page.locator('.figure', { hasText: 'Clicks' }).first().locator('.change');
        if (comparison.clicks === 0) expect(await change.innerText()).toBe('new');
        else expect(await change.getAttribute('title')).toBe(`${before} in the compared period`);
      }
    });

    test('the log shows clicks that pass the filters, and older ones', async () => {
      await page.goto('/dashboard/links/autumn?browser=Firefox&range=7d');
      const log = page.locator('.log tbody tr');
      expect((await statisticsShown(page)).log).toBe(8);
      await page.getByRole('button', { name: 'Show older clicks' }).click();
      await log.nth(57).waitFor();
      const texts = await log.locator('td:nth-child(3)').allInnerTexts();
      expect(texts).toHaveLength(58);
      expect(texts.filter(text => !text.startsWith('Firefox'))).toEqual([]);
    });

    test('older clicks that arrive after their filter was removed are not shown', async () => {
      await page.goto('/dashboard/links/autumn?browser=Firefox&range=7d');
      await statisticsShown(page);
      const asked = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      const answered = Promise.withResolvers<void>();
      await page.route(/clicks\/recent\?.*cursor=/, async route => {
        asked.resolve();
        await released.promise;
        await route.continue().catch(() => {});
        answered.resolve();
      });
      await page.getByRole('button', { name: 'Show older clicks' }).click();
      await asked.promise;
      await page.locator('.filter-chip').click();
      await page.locator('.filter-chip').waitFor({ state: 'detached' });
      await statisticsShown(page);
      released.resolve();
      await answered.promise;
      // This request is answered last, because it was sent last.
      await page.evaluate("fetch('/health/live').then(response => response.text())");
      expect((await statisticsShown(page)).log).toBe(8);
      await page.unrouteAll();
    });

    test('a tag that no link has is still shown as the filter of the overview', async () => {
      await page.goto('/dashboard?tag=no-such-tag');
      await statisticsShown(page);
      expect(await page.getByLabel('Tag', { exact: true }).inputValue()).toBe('no-such-tag');
    });

    test('a new link opens since it was created; an older one with thirty days', async () => {
      await page.goto('/dashboard/links/black-week');
      await page.getByRole('button', { name: 'Time range: Since created' }).waitFor();
      const { figures } = await statisticsShown(page);
      const { totalClicks } = await api('links/black-week/stats');
      expect(figures.Clicks).toBe(totalClicks);
      await page.goto('/dashboard/links/get-app');
      await page.getByRole('button', { name: 'Time range: Last 30 days' }).waitFor();
    });

    test('all time begins with the first click and has all of them', async () => {
      await page.goto('/dashboard/links/webinar?range=all');
      const { figures, chart } = await statisticsShown(page);
      const { totalClicks } = await api('links/webinar/stats');
      expect(figures.Clicks).toBe(totalClicks);
      expect(chart).toMatch(/^Clicks in 1[456] intervals/);
    });

    test('an answer that lacks clicks is shown with a note that says so', async () => {
      await page.route(/\/api\/v1\/links\/autumn\/stats\?/, async route => {
        const answer = await route.fetch();
        const body = { ...(await answer.json()), coveredFrom: '2026-10-01T00:00:00.000Z' };
        await route.fulfill({ response: answer, json: body });
      });
      await page.goto('/dashboard/links/autumn?country=DE');
      await page.getByText('kept since Oct 1, 2026, 02:00').waitFor();
      await page.unrouteAll();
    });

    test('there were no console errors and no requests to other servers', () => {
      expect({ consoleErrors: tab.consoleErrors, foreignRequests: tab.foreignRequests }).toEqual({
        consoleErrors: [],
        foreignRequests: [],
      });
    });
  });
});
