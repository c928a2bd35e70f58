/** What the audit log promises, as tests; run on every engine. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { isQuick, type OpenedRecords, type OpenRecords, ruleTestOn } from '../../test/kit/record-engines.ts';
import { systemRandom } from '../base/random.ts';
import { noteKind } from '../records/fake-kinds.ts';
import { put } from '../records/record-store.ts';
import type { AuditRecord } from './audit-entry.ts';
import { type AuditLog, type AuditQuery, createAuditLog } from './audit-log.ts';

const dayMs = 24 * 60 * 60 * 1_000;
/** Recent enough that nothing expires. */
const start = Math.floor(Date.now() / dayMs) * dayMs - 20 * dayMs;

export const auditRecord = (overrides: Partial<AuditRecord> = {}): AuditRecord => ({
  at: start,
  actor: { kind: 'account', accountId: 'acc_1', keyId: 'key_1' },
  action: 'link.updated',
  subject: { kind: 'link', id: 'abc' },
  before: { title: 'old' },
  after: { title: 'new' },
  reason: null,
  isRoutine: false,
  ...overrides,
});

const query = (overrides: Partial<AuditQuery> = {}): AuditQuery => ({
  limit: 100,
  cursor: undefined,
  subjectKinds: undefined,
  subjectId: undefined,
  accountId: undefined,
  action: undefined,
  fromMs: undefined,
  toMs: undefined,
  ...overrides,
});

export function auditConformance(engine: string, open: OpenRecords): void {
  describe(`the audit log: ${engine}`, () => {
    const ruleTest = ruleTestOn(engine);
    let opened: OpenedRecords;
    let audit: AuditLog;
    beforeEach(async () => {
      opened = await open();
      audit = createAuditLog({ records: opened.store, random: systemRandom });
    });
    afterEach(() => opened.dispose());
    const actions = async (overrides: Partial<AuditQuery>): Promise<string[]> =>
      (await audit.query(query(overrides))).entries.map(({ action }) => action);

    ruleTest('returns every entry exactly as it was written, newest first', async () => {
      const plain = auditRecord();
      const full = auditRecord({
        actor: { kind: 'system', accountId: null, keyId: null },
        action: 'account.suspended',
        subject: { kind: 'account', id: 'acc_2' },
        before: null,
        after: { tags: ['<script>', '\u202E'], nested: { deep: [1, null, 'ü'] } },
        reason: 'a “reason” with\nnew lines and 😀',
        isRoutine: true,
      });
      await audit.append([plain, full]);
      const { entries, nextCursor } = await audit.query(query());
      expect(entries.map(({ id: _id, ...record }) => record)).toEqual([full, plain]);
      expect(new Set(entries.map(({ id }) => id)).size).toBe(2);
      expect(nextCursor).toBeUndefined();
    });

    ruleTest('is not changed by mutating an appended entry', async () => {
      const after = { tags: ['a'] };
      await audit.append([auditRecord({ after })]);
      after.tags.push('b');
      expect((await audit.query(query())).entries[0]?.after).toEqual({ tags: ['a'] });
    });

    test('is filtered by subject, kind, account, action and time, and by all of them together', async () => {
      await audit.append([
        auditRecord({ action: 'one', subject: { kind: 'link', id: 'a' } }),
        auditRecord({ action: 'two', subject: { kind: 'link', id: 'b' }, at: start + 10 }),
        auditRecord({ action: 'three', subject: { kind: 'key', id: 'a' }, at: start + 20 }),
        auditRecord({
          action: 'four',
          actor: { kind: 'account', accountId: 'acc_2', keyId: null },
          at: start + 30,
        }),
        auditRecord({ action: 'five', actor: { kind: 'anonymous', accountId: null, keyId: null } }),
      ]);
      expect(await actions({ subjectKinds: ['link'], subjectId: 'a' })).toEqual(['one']);
      expect(await actions({ subjectKinds: ['key'] })).toEqual(['three']);
      expect(await actions({ subjectKinds: ['key', 'link'] })).toHaveLength(5);
      expect(await actions({ accountId: 'acc_2' })).toEqual(['four']);
      expect(await actions({ accountId: 'acc_1' })).toEqual(['three', 'two', 'one']);
      expect(await actions({ action: 'five' })).toEqual(['five']);
      expect(await actions({ fromMs: start + 10, toMs: start + 30 })).toEqual(['three', 'two']);
      const narrow = { subjectKinds: ['link'], subjectId: 'b', accountId: 'acc_1', action: 'two' } as const;
      expect(await actions({ ...narrow, fromMs: start + 10, toMs: start + 11 })).toEqual(['two']);
      expect(await actions({ ...narrow, fromMs: start + 11 })).toEqual([]);
      expect(await actions({ subjectKinds: ['link'], subjectId: "a' OR '1'='1" })).toEqual([]);
    });

    test('cursors reach each entry once, even when few entries match', async () => {
      // More than one page of the engine; where records are fast, as many as one question examines.
      const count = isQuick(engine) ? 2_000 : 600;
      const rare = Array.from({ length: count }, (_, n) =>
        auditRecord({ action: n % 500 === 0 ? `rare ${n}` : 'common', at: start + n }),
      );
      await audit.append(rare);
      const walk = async (overrides: Partial<AuditQuery>): Promise<string[]> => {
        const seen: string[] = [];
        let cursor: string | undefined;
        let pages = 0;
        do {
          const page = await audit.query(query({ ...overrides, cursor }));
          seen.push(...page.entries.map(({ action }) => action));
          cursor = page.nextCursor;
          pages += 1;
        } while (cursor !== undefined && pages < 2_100);
        return seen;
      };
      expect(await walk({ limit: 7, action: 'rare 0' })).toEqual(['rare 0']);
      expect(await walk({ limit: 250, subjectKinds: ['link'], subjectId: 'abc' })).toHaveLength(count);
      expect(await walk({ limit: 250 })).toHaveLength(count);
      expect(await walk({ limit: 2, fromMs: start + 500, toMs: start + 503 })).toEqual([
        'common',
        'common',
        'rare 500',
      ]);
    });

    ruleTest('keeps routine entries for the configured time, and everything else forever', async () => {
      const old = Date.now() - 400 * dayMs;
      const kinds = [
        { action: 'old routine', at: old, isRoutine: true },
        { action: 'old decision', at: old },
        { action: 'recent routine', at: old + 100 * dayMs, isRoutine: true },
        { action: 'recent decision', at: old + 100 * dayMs },
      ];
      for (let n = 0; n < 3; n += 1) await audit.append(kinds.map(auditRecord));
      for (let turns = 0; (await opened.store.removeExpired(2)) > 0 && turns < 10; turns += 1);
      const left = await actions({});
      for (const kept of ['old decision', 'recent routine', 'recent decision']) {
        expect(left.filter(action => action === kept)).toHaveLength(3);
      }
      expect(left).not.toContain('old routine');
      const longer = createAuditLog({ records: opened.store, random: systemRandom, routineDays: 500 });
      await longer.append([auditRecord({ action: 'kept longer', at: old, isRoutine: true })]);
      expect(await actions({ action: 'kept longer' })).toHaveLength(1);
    });

    test('is written in the transaction of a change, or not at all', async () => {
      const { store } = opened;
      const note = { id: 'n', book: null, text: '' };
      const entry = () => audit.writesOf([auditRecord()]);
      expect(await store.transact([put(noteKind, note), ...entry()])).toBe('done');
      expect(await store.transact([put(noteKind, note), ...entry()])).toBe('conflict');
      expect((await audit.query(query())).entries).toHaveLength(1);
    });

    test('finds an entry by its time even where the order of writing gave it a later id', async () => {
      await audit.append([auditRecord({ action: 'later', at: start + 30 * 60_000 })]);
      await audit.append([auditRecord({ action: 'earlier' })]);
      expect(await actions({ toMs: start + 1 })).toEqual(['earlier']);
      expect(await actions({ fromMs: start + 1 })).toEqual(['later']);
    });

    ruleTest('rejects a cursor that it did not issue', async () => {
      await expect(audit.query(query({ cursor: "'; DROP TABLE audit" }))).rejects.toThrow('cursor');
    });
  });
}
