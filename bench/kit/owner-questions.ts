/**
 * Typical queries of owners about the clicks of the `warehouse` scenario, and their latencies. Also runs as a process,
 * `owner-questions.ts PATH LINKS FILTERED`, so that queries do not wait for counting.
 */
import type { LinkEntry } from '../../src/clicks/click.ts';
import { readStats, type StatsQuery } from '../../src/clicks/stats.ts';
import { grainMs, type Scope, type Warehouse } from '../../src/clicks/warehouse.ts';
import { openSqliteWarehouse } from '../../src/clicks/warehouses/sqlite/warehouse.ts';
import { Histogram } from './histogram.ts';

export const days = 30;
export const end = Date.UTC(2026, 5, 30, 18);
export const start = end - days * grainMs.day;
export const hotLink = 'hotlink';
export const questionsEach = 100;
const ownerId = 'acc_bench';
const linksPerOwner = 1_000;
const hourMs = 60 * grainMs.minute;

export const oneLink = {
  linkCount: 1,
  linkAt: (): LinkEntry => ({ code: hotLink, ownerId, tags: [] }),
};
export const manyLinks = (index: number): LinkEntry => ({
  code: `link${index}`,
  ownerId: `acc_${Math.floor(index / linksPerOwner)}`,
  tags: [],
});

const linkScope = ({ code, ownerId: owner }: LinkEntry): Scope => ({ kind: 'link', code, ownerId: owner });

export type AskedLatencies = Readonly<
  Record<string, { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number }>
>;

/** The query of each kind for a turn; each turn asks about another one of the many links. */
export function ownerQuestions(
  links: number,
  isFiltered: boolean,
): Record<string, (turn: number) => StatsQuery> {
  const midnight = Math.floor(end / grainMs.day) * grainMs.day + grainMs.day;
  const anyOf = (turn: number): LinkEntry => manyLinks((turn * 7_919) % links);
  const month: StatsQuery = {
    scopes: [linkScope(oneLink.linkAt())],
    filters: [],
    from: midnight - days * grainMs.day,
    to: midnight,
    interval: 'day',
    timeZone: 'UTC',
    now: end,
  };
  const inZone = (timeZone: string, offsetMs: number): StatsQuery => ({
    ...month,
    timeZone,
    from: month.from - offsetMs,
    to: month.to - offsetMs,
  });
  const filters = [
    { dimension: 'country', values: ['AA', 'AB', 'AC'], isExcluded: false },
    { dimension: 'device', values: ['mobile'], isExcluded: true },
  ] as const;
  return {
    'one link, 30 days by day': () => month,
    'one link, 30 days by day in Berlin': () => inZone('Europe/Berlin', 2 * hourMs),
    'one link, 30 days by day in Kathmandu': () => inZone('Asia/Kathmandu', 5.75 * hourMs),
    'one link, 30 days by hour': () => ({ ...month, interval: 'hour' }),
    'one link, 24 hours by minute': () => ({
      ...month,
      from: end - grainMs.day,
      to: end,
      interval: 'minute',
    }),
    'one account, 30 days by day': () => ({ ...month, scopes: [{ kind: 'owner', ownerId }] }),
    'any of the many links, 30 days by day': turn => ({ ...month, scopes: [linkScope(anyOf(turn))] }),
    'an account of 1,000 of them, 30 days by day': turn => ({
      ...month,
      scopes: [{ kind: 'owner', ownerId: anyOf(turn).ownerId! }],
    }),
    ...(isFiltered && {
      'one link, two filters, 30 days by day': () => ({ ...month, filters }),
      'one link, two filters, 24 hours by minute': () => ({
        ...month,
        filters,
        from: end - grainMs.day,
        to: end,
        interval: 'minute',
      }),
      'any of the many links, two filters, 30 days by day': (turn: number) => ({
        ...month,
        filters,
        scopes: [linkScope(anyOf(turn))],
      }),
    }),
  };
}

async function askAll(open: Warehouse, links: number, isFiltered: boolean): Promise<AskedLatencies> {
  const latencies: Record<string, AskedLatencies[string]> = {};
  for (const [name, queryOf] of Object.entries(ownerQuestions(links, isFiltered))) {
    const histogram = new Histogram();
    const startedMs = performance.now();
    for (let turn = 0; turn < questionsEach; turn += 1) {
      const askedMs = performance.now();
      await readStats(open, queryOf(turn));
      histogram.record((performance.now() - askedMs) * 1_000);
      // For slow queries fewer samples are enough.
      if (performance.now() - startedMs > 10_000) break;
    }
    latencies[name] = {
      p50Ms: histogram.quantileUs(0.5) / 1_000,
      p99Ms: histogram.quantileUs(0.99) / 1_000,
      maxMs: histogram.maxUs / 1_000,
    };
  }
  return latencies;
}

if (import.meta.main) {
  const [path, links, isFiltered] = process.argv.slice(2);
  const open = openSqliteWarehouse(path!);
  process.stdout.write(JSON.stringify(await askAll(open, Number(links), isFiltered === 'true')));
  await open.close();
}
