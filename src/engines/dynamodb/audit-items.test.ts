import { describe, expect, test } from 'bun:test';
import { freshDynamoTable } from '../../../test/kit/dynamo-table.ts';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import type { AuditRecord } from '../../base/audit-entry.ts';
import { seededRandom } from '../../base/random.ts';
import {
  type AuditItem,
  auditDayOf,
  auditEntryOf,
  auditSlackMs,
  createAuditItems,
  lowestAuditId,
} from './audit-items.ts';
import type { PutItem, TransactItem } from './expressions.ts';

const noon = Date.UTC(2026, 5, 1, 12);
const record = (at: number, overrides: Partial<AuditRecord> = {}): AuditRecord => ({
  at,
  actor: { kind: 'account', accountId: 'acc_1', keyId: null },
  action: 'link.updated',
  subject: { kind: 'link', id: 'abc' },
  before: null,
  after: { title: 'new' },
  reason: null,
  isRoutine: false,
  ...overrides,
});
const itemOf = (write: TransactItem): AuditItem => (write as PutItem).put as unknown as AuditItem;

function itemsHere() {
  const written: unknown[] = [];
  const write = async (item: unknown): Promise<boolean> => {
    written.push(item);
    return true;
  };
  return { written, auditItems: createAuditItems({ write }, seededRandom(7), 90) };
}

test('only routine entries carry a time at which the engine drops them', async () => {
  const { auditItems } = itemsHere();
  const kinds = [record(noon), record(noon, { isRoutine: true })];
  const [decision, routine] = (await auditItems.itemsOf(kinds)).map(itemOf);
  expect(decision!.ttl).toBeUndefined();
  expect(routine!.ttl).toBe(noon / 1_000 + 90 * 24 * 60 * 60);
  expect(auditEntryOf(routine!).isRoutine).toBe(true);
});

test('an entry of an earlier version, which does not say whether it is routine, is kept', async () => {
  const { auditItems } = itemsHere();
  const item = itemOf((await auditItems.itemsOf([record(noon)]))[0]!);
  const { isRoutine: _isRoutine, ...entry } = JSON.parse(item.entry);
  expect(auditEntryOf({ ...item, entry: JSON.stringify(entry) }).isRoutine).toBe(false);
});

describe('ids of audit entries', () => {
  test('follow the order of writing, whatever the entries say of their time', async () => {
    const { auditItems } = itemsHere();
    const times = [0, 5, 5, 3, 4, 90_000, 1, 90_001];
    const ids: string[] = [];
    for (const ms of times) ids.push(itemOf((await auditItems.itemsOf([record(noon + ms)]))[0]!).sk);
    const together = await auditItems.itemsOf(Array.from({ length: 2_000 }, () => record(noon)));
    ids.push(...together.map(write => itemOf(write).sk));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('are not before the time of their entry and not far behind it, so that time bounds a search', async () => {
    const { auditItems } = itemsHere();
    for (const ms of [0, auditSlackMs - 1, -1, -auditSlackMs, -10 * auditSlackMs, 5]) {
      const at = noon + ms;
      const id = itemOf((await auditItems.itemsOf([record(at)]))[0]!).sk;
      expect(id >= lowestAuditId(at)).toBe(true);
      expect(id < lowestAuditId(at + auditSlackMs + 1_000)).toBe(true);
    }
  });

  test('sort into days, and each day is noted once before its first entry', async () => {
    const { written, auditItems } = itemsHere();
    const midnight = Date.UTC(2026, 5, 2);
    const writes = await auditItems.itemsOf([midnight - 1, midnight, midnight + 1].map(at => record(at)));
    expect(writes.map(write => itemOf(write).auditDay)).toEqual(['2026-06-01', '2026-06-02', '2026-06-02']);
    expect(auditDayOf(itemOf(writes[0]!).sk)).toBe('2026-06-01');
    await auditItems.itemsOf([record(midnight + 2)]);
    expect(written).toEqual([
      { put: { pk: 'audit-days', sk: '2026-06-01' } },
      { put: { pk: 'audit-days', sk: '2026-06-02' } },
    ]);
  });
});

test('an entry comes back as it was, and only what an account did is found by its account', async () => {
  const { auditItems } = itemsHere();
  const system = record(noon, { actor: { kind: 'system', accountId: null, keyId: null }, reason: '' });
  const [mine, ours] = (await auditItems.itemsOf([record(noon), system])).map(itemOf);
  const { id: _id, ...entry } = auditEntryOf(ours!);
  expect(entry).toEqual(system);
  expect(mine!.auditAccount).toBe('account#acc_1');
  expect(ours!.auditAccount).toBeUndefined();
});

describeWithEngine('dynamodb', 'an audit entry in DynamoDB', () => {
  test('is never replaced', async () => {
    const { dynamo, auditItems, dispose } = await freshDynamoTable();
    const [write] = await auditItems.itemsOf([record(noon)]);
    const forged = { ...(write as PutItem), put: { ...itemOf(write!), entry: '{}' } };
    expect(await dynamo.transact([write!])).toEqual({ kind: 'done' });
    expect(await dynamo.transact([forged])).toEqual({ kind: 'refused', failed: [0] });
    expect(await dynamo.get<AuditItem>(itemOf(write!))).toEqual(itemOf(write!));
    await dispose();
  });
});
