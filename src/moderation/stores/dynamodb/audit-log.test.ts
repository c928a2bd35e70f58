import { describe, expect, test } from 'bun:test';
import type { AuditRecord } from '../../../base/audit-entry.ts';
import { seededRandom } from '../../../base/random.ts';
import { createAuditItems } from '../../../engines/dynamodb/audit-items.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { Item, PutItem } from '../../../engines/dynamodb/expressions.ts';
import type { Query } from '../../../engines/dynamodb/queries.ts';
import { tableIndexes } from '../../../engines/dynamodb/table.ts';
import { auditRecord } from '../../audit.conformance.ts';
import { type AuditQuery, everythingAbout } from '../../audit.ts';
import { createDynamoAuditLog } from './audit-log.ts';

const start = Date.UTC(2026, 5, 1, 12);
const dayMs = 24 * 60 * 60 * 1_000;

/** A trail in memory that notes how many items each call looked at. */
function trailHere() {
  const items: Item[] = [];
  const looked: number[] = [];
  const put = async (item: unknown): Promise<boolean> => {
    items.push((item as PutItem).put);
    return true;
  };
  const query = async ({ pk, index, range, limit = Number.POSITIVE_INFINITY }: Query) => {
    const names = index === undefined ? { pk: 'pk', sk: 'sk' } : tableIndexes[index];
    const { below } = range as { below: string };
    const found = items.filter(item => item[names.pk] === pk && item.sk < below);
    const page = found.toSorted((one, other) => (one.sk > other.sk ? -1 : 1)).slice(0, limit);
    looked.push(page.length);
    return { items: page, next: page.length < found.length ? {} : undefined };
  };
  const transact = async (writes: readonly unknown[]) => {
    for (const write of writes) await put(write);
    return { kind: 'done' };
  };
  const dynamo = { query, write: put, transact } as unknown as Dynamo;
  const audit = createDynamoAuditLog(dynamo, createAuditItems(dynamo, seededRandom(3)));
  const append = (at: number, overrides: Partial<AuditRecord> = {}) =>
    audit.append([auditRecord({ at, ...overrides })]);
  const ask = (overrides: Partial<AuditQuery>) =>
    audit.query({
      ...everythingAbout({ kind: 'link', id: 'abc' }, { limit: 10, cursor: undefined }),
      subjectKinds: undefined,
      subjectId: undefined,
      ...overrides,
    });
  return { audit, append, ask, looked };
}

describe('reading the audit trail', () => {
  test('finds an entry by its time also where the order of writing gave it a later id', async () => {
    const { append, ask } = trailHere();
    await append(start + 30 * 60_000, { action: 'later' });
    await append(start, { action: 'earlier' });
    const { entries } = await ask({ toMs: start + 1 });
    expect(entries.map(({ action }) => action)).toEqual(['earlier']);
    expect((await ask({ fromMs: start + 1 })).entries.map(({ action }) => action)).toEqual(['later']);
  });

  test('looks at a bounded number of entries per call and goes on from there', async () => {
    const { audit, ask, looked } = trailHere();
    await audit.append(Array.from({ length: 4_500 }, (_, n) => auditRecord({ at: start + n })));
    let pages = 0;
    let cursor: string | undefined;
    do {
      looked.length = 0;
      const page = await ask({ action: 'nothing', cursor });
      expect(page.entries).toEqual([]);
      expect(looked.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(2_001);
      cursor = page.nextCursor;
      pages += 1;
    } while (cursor !== undefined);
    expect(pages).toBe(3);
  });

  test('looks at a bounded number of days per call, passes over none, and at none that is too early', async () => {
    const { append, ask, looked } = trailHere();
    for (let day = 0; day < 70; day += 1) await append(start + day * 2 * dayMs, { action: `on ${day}` });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      looked.length = 0;
      const page = await ask({ limit: 100, cursor });
      expect(looked.length).toBeLessThanOrEqual(70);
      seen.push(...page.entries.map(({ action }) => action));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(Array.from({ length: 70 }, (_, day) => `on ${69 - day}`));
    looked.length = 0;
    const { entries, nextCursor } = await ask({ fromMs: start + 137 * dayMs });
    expect(entries.map(({ action }) => action)).toEqual(['on 69']);
    expect(nextCursor).toBeUndefined();
    expect(looked.length).toBeLessThanOrEqual(3);
  });
});
