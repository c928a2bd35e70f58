/** Any combination of range, zone and filters: the numbers of the page agree with the API and with each other. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type DimensionName, dimensions } from '../../src/clicks/dimensions.ts';
import { announcedRandom } from '../kit/announced-random.ts';
import { scaled } from '../kit/scale.ts';
import { openTab, signIn, type Tab } from './kit/dashboard-page.ts';
import { describeInBrowser } from './kit/describe-in-browser.ts';
import { type SeededTerse, startSeededTerse } from './kit/seeded-terse.ts';
import { statisticsShown } from './kit/statistics-page.ts';
import { storyNowMs } from './kit/story.ts';

const dayMs = 24 * 60 * 60_000;
const shownMax = 9;
const pages = ['/dashboard', '/dashboard?tag=shop', '/dashboard/links/autumn', '/dashboard/links/black-week'];
const ranges = ['1h', '24h', 'today', 'yesterday', '7d', '30d', 'month', 'created', 'own'];
/** Only without filters, because single clicks are not kept that long. */
const longRanges = ['90d', '12m', 'all'];
const zones = ['', 'UTC', 'Asia/Kathmandu', 'America/New_York', 'Pacific/Chatham', 'Australia/Adelaide'];
const values: Readonly<Partial<Record<DimensionName, readonly string[]>>> = {
  country: ['DE', 'US', 'FR', 'BR', 'SG'],
  device: ['desktop', 'mobile', 'tablet'],
  browser: ['Chrome', 'Firefox', 'Safari'],
  referrer: ['', 'news.example', 'linkedin.com'],
  language: ['de', 'en', ''],
  utmSource: ['newsletter', 'poster', ''],
  via: ['qr', ''],
  bot: ['', 'bot'],
};

await describeInBrowser('the numbers of a page', browser => {
  let seeded: SeededTerse;
  let tab: Tab;
  beforeAll(async () => {
    seeded = await startSeededTerse();
    tab = await openTab(browser(), seeded.url, { nowMs: storyNowMs });
    await signIn(tab);
  });
  afterAll(async () => {
    await tab.context.close();
    await seeded.stop();
  });

  test(
    'agree with the API and with each other, for any choice',
    async () => {
      const random = announcedRandom('ranges, zones and filters');
      const pick = <Value>(list: readonly Value[]): Value => list[Math.floor(random.float() * list.length)]!;
      for (let round = 0; round < scaled(50, 500); round += 1) {
        const filtered = (Object.keys(values) as DimensionName[]).filter(() => random.float() < 0.2);
        const range = pick(filtered.length > 0 ? ranges : [...ranges, ...longRanges]);
        const chosen = new URL(pick(pages), seeded.url);
        if (range === 'own') {
          const fromMs = storyNowMs - Math.ceil(random.float() * 60 * dayMs);
          chosen.searchParams.set('from', new Date(fromMs).toISOString());
          chosen.searchParams.set(
            'to',
            new Date(fromMs + Math.ceil(random.float() * 20 * dayMs)).toISOString(),
          );
        } else chosen.searchParams.set('range', range);
        const zone = pick(zones);
        if (zone !== '') chosen.searchParams.set('zone', zone);
        if (random.float() < 0.4) chosen.searchParams.set('compare', pick(['previous', 'weekdays']));
        for (const name of filtered) {
          const list = values[name]!.filter(() => random.float() < 0.5);
          const text = list.length === 0 ? values[name]![0]! : list.join(',');
          chosen.searchParams.set(name, `${random.float() < 0.2 ? '!' : ''}${text === '' ? ',' : text}`);
        }
        await check(chosen, filtered);
      }
    },
    15 * 60_000,
  );

  async function check(chosen: URL, filtered: readonly DimensionName[]): Promise<void> {
    const asked: string[] = [];
    const note = (request: { url(): string }): void => {
      const { pathname, search } = new URL(request.url());
      if (/^\/api\/v1\/(links\/[^/]+\/)?stats$/.test(pathname)) asked.push(pathname + search);
    };
    tab.page.on('request', note);
    const path = chosen.pathname + chosen.search;
    await tab.page.goto(path);
    const shown = await statisticsShown(tab.page);
    tab.page.off('request', note);

    // The request of the page matches its address.
    const last = new URL(asked.at(-1)!, seeded.url).searchParams;
    expect([path, last.get('timeZone')]).toEqual([path, chosen.searchParams.get('zone') ?? 'Europe/Berlin']);
    const filters = dimensions.filter(({ name }) => last.has(name)).map(({ name }) => name);
    expect([path, filters.sort()]).toEqual([path, [...filtered].sort()]);

    // The page shows the answer of the API, and the answer adds up.
    const { body } = await seeded.call('GET', asked.at(-1)!);
    const clicks = body.range.clicks as number;
    expect([path, shown.figures.Clicks, shown.figures.Visitors, shown.figures['Bots and previews']]).toEqual([
      path,
      clicks,
      body.range.visitors,
      body.range.botClicks,
    ]);
    expect(shown.figures.Visitors!).toBeLessThanOrEqual(clicks);
    const sum = (list: readonly { clicks: number }[]): number =>
      list.reduce((total, each) => total + each.clicks, 0);
    expect([path, sum(body.series)]).toEqual([path, clicks]);
    for (const { name, list } of dimensions) {
      if (shown.lists[name] === undefined) continue;
      const isListed = ({ value }: { value: string }): boolean => value !== '' || !name.startsWith('utm');
      const expected = (body[list] as { value: string; clicks: number }[])
        .filter(isListed)
        .slice(0, shownMax)
        .map((each): [string, number] => [each.value, each.clicks]);
      expect([path, name, shown.lists[name]]).toEqual([path, name, expected]);
    }
    for (const complete of ['device', 'via'])
      expect([path, sum(shown.lists[complete]!.map(([, count]) => ({ clicks: count })))]).toEqual([
        path,
        clicks,
      ]);
    expect([path, sum(shown.lists.bot!.map(([, count]) => ({ clicks: count })))]).toEqual([
      path,
      body.range.botClicks,
    ]);
    expect([path, shown.log]).toEqual([path, Math.min(8, clicks + (body.range.botClicks as number))]);
    if (chosen.pathname !== '/dashboard') {
      const table = await tab.page.getByRole('link', { name: 'CSV' }).getAttribute('href');
      const answer = await tab.page.request.get(table!);
      const [, ...lines] = (await answer.text()).trimEnd().split('\r\n');
      if (answer.headers()['covered-from'] === undefined)
        expect([path, lines.length]).toEqual([path, clicks + (body.range.botClicks as number)]);
    }
    if (body.comparison !== null)
      expect([path, sum(body.comparison.series)]).toEqual([path, body.comparison.clicks]);
  }
});
