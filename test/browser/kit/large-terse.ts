/**
 * A Terse with very many links. One of them was followed in every minute of a year; others, on request, in the last
 * month, with the usual uneven distribution.
 */
import { callerOf } from '../../kit/client.ts';
import { metricOf } from '../../kit/follow.ts';
import { startTerseHere, type TerseHere } from '../../kit/terse-here.ts';
import { until } from '../../kit/until.ts';
import { seedClicks } from './seeded-clicks.ts';

export interface LargeTerse {
  readonly url: string;
  readonly links: number;
  readonly clicks: number;
  /** The most followed one of the others. */
  readonly popular: string | undefined;
  stop(): Promise<void>;
}

export const busyAlias = 'busy-link';
const dayMs = 24 * 60 * 60_000;
/** Two a minute on average, so that hardly a minute of the day is empty. */
const dailyClicks = 2 * 24 * 60;
/** The maximum of one bulk call. */
const bulkMax = 10_000;
const spreadLinks = 1_000;
const spreadDays = 30;
/** Readings, two seconds apart, with the same number of runs: grouping does not change it and takes seconds. */
const stableReadings = 10;

export interface LargeTerseOptions {
  readonly links: number;
  /** Days of clicks of the busy link. */
  readonly days: number;
  /** About how many clicks other links have. */
  readonly spreadClicks?: number;
}

export async function startLargeTerse(options: LargeTerseOptions): Promise<LargeTerse> {
  const { links, days, spreadClicks = 0 } = options;
  const terse: TerseHere = await startTerseHere({ env: { TERSE_MINUTE_DAYS: '400' } });
  const call = callerOf(terse.url);
  const items = Array.from({ length: links - 1 }, (_, index) => ({
    longUrl: `https://example.com/articles/${index}/a-title-in-words?utm_source=mail&id=${index}`,
    title: index % 3 === 0 ? `Article number ${index}` : null,
    tags: index % 10 === 0 ? ['newsletter'] : [],
  }));
  const codes: string[] = [];
  for (let from = 0; from < items.length; from += bulkMax) {
    const { body } = await call('POST', '/api/v1/links/bulk', {
      body: { links: items.slice(from, from + bulkMax) },
    });
    codes.push(...body.results.map(({ link }: { link: { shortCode: string } }) => link.shortCode));
  }
  const body = { longUrl: 'https://example.com/busy', customAlias: busyAlias, title: 'The busy one' };
  await call('POST', '/api/v1/links', { body });
  const { id: ownerId } = (await call('GET', '/api/v1/account')).body;
  const toMs = Date.now();
  const fromMs = toMs - days * dayMs;
  const spread = spreadClicks === 0 ? [] : codes.slice(0, spreadLinks);
  const firstDaily = spreadClicks / spreadDays / (Math.log(spreadLinks) + 0.58);
  const clicks = await seedClicks({
    dataFolder: terse.dataFolder,
    links: [
      { code: busyAlias, ownerId, tags: [], daily: dailyClicks, fromMs },
      ...spread.map((code, rank) => ({
        code,
        ownerId,
        tags: [],
        daily: firstDaily / (rank + 1),
        fromMs: toMs - spreadDays * dayMs,
      })),
    ],
    fromMs,
    toMs,
  });
  if (spreadClicks > 0) await merged(terse.url);
  return {
    url: terse.url.replace('127.0.0.1', 'localhost'),
    links,
    clicks,
    popular: spread[0],
    stop: () => terse.stop(),
  };
}

/** Waits until the clicks are merged and grouped, as a month of clicks would be that had not come within seconds. */
async function merged(url: string): Promise<void> {
  let runs = 0;
  let same = 0;
  await until(
    'the clicks to be merged',
    async () => {
      // Unknown until the first report of the click thread.
      const now = await metricOf(url, 'terse_stats_runs').catch(() => Number.NaN);
      same = now === runs ? same + 1 : 0;
      runs = now;
      return same === stableReadings;
    },
    { everyMs: 2_000, maxMs: 10 * 60_000 },
  );
}
