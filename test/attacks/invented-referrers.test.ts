/** Clicks with invented referrers do not hide a real referrer that came often. */
import { afterAll, expect, test } from 'bun:test';
import { ClickedTerse } from '../kit/clicked-terse.ts';
import { rateOf, report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { browser } from '../kit/visitors.ts';

const clicked = await ClickedTerse.start(Date.UTC(2026, 5, 1, 9));
afterAll(() => clicked.terse.stop());

const invented = 5_000;
const days = scaled(3, 7);
const dayMs = 24 * 60 * 60_000;
const real = 'real.example';
const atOnce = 64;

interface Shown {
  readonly value: string;
  readonly clicks: number;
}

/** In this order, except for those that are in flight together. */
async function visitAll(code: string, domains: readonly string[]): Promise<void> {
  for (let from = 0; from < domains.length; from += atOnce) {
    const visits = domains.slice(from, from + atOnce).map(domain => {
      const headers = { ...browser, Referer: `https://${domain}/page` };
      return clicked.visit(code, { headers });
    });
    for (const { status } of await Promise.all(visits)) expect(status).toBe(302);
  }
}

const flood = (count: number, name: string): string[] =>
  Array.from({ length: count }, (_, n) => `site${n}.${name}.example`);
const reals = (count: number): string[] => Array.from({ length: count }, () => real);

type Traffic = (invented: readonly string[], realCount: number) => string[];
const orders: Record<string, Traffic> = {
  after: (domains, count) => [...domains, ...reals(count)],
  before: (domains, count) => [...reals(count), ...domains],
  among: (domains, count) => {
    const every = Math.floor(domains.length / count);
    return domains.flatMap((domain, n) => (n % every === 0 && n < every * count ? [domain, real] : [domain]));
  },
};

/** How many clicks of the real referrer are shown, in the list of the link and in that of its tag. */
async function shownOf(code: string, tag: string, sent: readonly string[]): Promise<number> {
  await clicked.counted();
  const shown = [];
  for (const path of [`/api/v1/links/${code}/stats`, `/api/v1/stats?tag=${tag}`]) {
    const { totalClicks, topReferrers } = await clicked.stats(path);
    expect(totalClicks).toBe(sent.length);
    // The rest is `(other)` once the day is summarised, and listed until then.
    const top: readonly Shown[] = topReferrers.slice(0, 2);
    expect(top.map(({ value }) => value)).toContain(real);
    shown.push(top.find(({ value }) => value === real)!.clicks);
  }
  return Math.min(...shown);
}

test.each(Object.entries(orders))(
  'a real referrer with 1%% of the clicks that comes %s 5,000 invented ones is shown',
  async (name, order) => {
    const code = await clicked.create({ tags: [name] });
    const realCount = Math.ceil(invented / 99);
    const sent = order(flood(invented, name), realCount);
    const startedMs = performance.now();
    await visitAll(code, sent);
    const rate = rateOf(sent.length, performance.now() - startedMs);
    const shown = await shownOf(code, name, sent);
    report(`${name} ${invented} invented referrers: ${shown} of ${realCount} real clicks shown; ${rate}`);
    // As many as one in a thousand of the day's clicks may be missing from it.
    expect(shown).toBeWithin(realCount - sent.length / 1_000, realCount + 1);
  },
  heavyTestMaxMs,
);

test(
  'floods on several days, of names with several clicks each, do not hide it either',
  async () => {
    const code = await clicked.create({ tags: ['days'] });
    const sent: string[] = [];
    const realCount = Math.ceil((2 * invented) / 99);
    for (let day = 0; day < days; day += 1) {
      const names = flood(invented, `day${day}`);
      const today = Object.values(orders)[day % 3]!([...names, ...names], realCount);
      await visitAll(code, today);
      sent.push(...today);
      clicked.clock.advance(dayMs);
    }
    const shown = await shownOf(code, 'days', sent);
    report(`floods on ${days} days: ${shown} of ${days * realCount} real clicks shown`);
    expect(shown).toBeWithin(days * realCount - sent.length / 1_000, days * realCount + 1);
  },
  heavyTestMaxMs,
);
