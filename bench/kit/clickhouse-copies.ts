/**
 * Clicks by the hundred million in a tenth of the time it takes to count them: a few links are counted, and what the
 * tables then have of them is copied inside ClickHouse under other names. Nothing in a row but its name tells a copy from
 * what counting would have made. Of single clicks only the last day is copied, and of minutes two weeks, as if older ones
 * had been dropped by then.
 */
import type { LinkEntry } from '../../src/clicks/batch.ts';
import { grainMs, scopeName } from '../../src/clicks/warehouse.ts';
import type { ClickHouse } from '../../src/engines/clickhouse/clickhouse.ts';

export const copiedLinks = 5;
/** On all of the links that are copied. */
export const copiedClicks = 10_000_000;
export const copiedVisitorsPerDay = 200_000;

const ownerId = 'acc_copied';
const clickDays = 1;
const minuteDays = 14;
const copyMaxMs = 600_000;
/** Each insert makes parts, which have to be merged. */
const copiesAtOnce = 10;

export const copiedLink = (index: number): LinkEntry => ({ code: codeOf(index), ownerId, tags: [] });
/** What one of the links is called in one of the copies; copy 0 is the one that was counted. */
export const codeOfCopy = (index: number, copy: number): string =>
  copy === 0 ? codeOf(index) : codeOf(index) + suffixOf(copy);

const codeOf = (index: number): string => `busy${index}`;
const suffixOf = (copy: number): string => `c${copy}`;

/** Copies everything so many times; `end` is the time of the last click. */
export async function copyLinks(
  clickHouse: ClickHouse,
  copies: number,
  end: number,
  onCopies: (copies: number) => void,
): Promise<void> {
  const codes = Array.from({ length: copiedLinks }, (_, index) => codeOf(index));
  const scopes = [...codes, scopeName({ kind: 'owner', ownerId })];
  const since = (days: number): string => `fromUnixTimestamp64Milli(${end - days * grainMs.day})`;
  const kept: Readonly<Record<string, string>> = {
    clicks: `${isOneOf('code', codes)} AND at >= ${since(clickDays)}`,
    minutes: `${isOneOf('scope', scopes)} AND start >= ${since(minuteDays)}`,
    quarters: isOneOf('scope', scopes),
    days: isOneOf('scope', scopes),
    dimensions: isOneOf('scope', scopes),
  };
  for (let first = 1; first <= copies; first += copiesAtOnce) {
    const last = Math.min(copies, first + copiesAtOnce - 1);
    const suffixes = Array.from({ length: last - first + 1 }, (_, index) => `'${suffixOf(first + index)}'`);
    for (const [table, condition] of Object.entries(kept)) {
      const name = table === 'clicks' ? 'code' : 'scope';
      await clickHouse.run(
        `INSERT INTO ${table}_0 SELECT * EXCEPT (suffix) REPLACE (concat(${name}, suffix) AS ${name})
         FROM (SELECT *, arrayJoin([${suffixes.join(', ')}]) AS suffix FROM ${table}_0 WHERE ${condition})`,
        { deadlineMs: copyMaxMs },
      );
    }
    onCopies(last);
  }
}

const isOneOf = (column: string, names: readonly string[]): string =>
  `${column} IN (${names.map(name => `'${name}'`).join(', ')})`;
