/** The contract of a store of operator entries, as tests that every driver runs. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { AuditRecord } from '../audit/audit-entry.ts';
import { acceptEntry, type OperatorEntry, type OperatorEntryStore } from './operator-entries.ts';

export interface OpenEntryStore {
  readonly store: OperatorEntryStore;
  /** Another handle to the same entries, as another process would have; `dispose` closes it too. */
  readonly reopen: () => Promise<OperatorEntryStore>;
  readonly trail: () => Promise<readonly AuditRecord[]>;
  dispose(): Promise<void>;
}

const change = { at: 5_000, actor: { kind: 'account', accountId: 'acc_1', keyId: 'key_1' } } as const;

function entryOf(text: string, overrides: Partial<OperatorEntry> = {}): OperatorEntry {
  return { ...acceptEntry(text), reason: null, addedAt: 5_000, addedBy: 'acc_1', ...overrides };
}

export function operatorEntriesConformance(name: string, open: () => Promise<OpenEntryStore>): void {
  describe(`operator entries in ${name}`, () => {
    let opened: OpenEntryStore;
    let store: OperatorEntryStore;
    beforeEach(async () => {
      opened = await open();
      ({ store } = opened);
    });
    afterEach(() => opened.dispose());

    test('are returned as they were added, oldest first', async () => {
      const entries = [
        entryOf('b.example', { reason: 'a “reason”' }),
        entryOf('-a.example', { addedBy: null }),
      ];
      for (const entry of entries) expect(await store.add(entry, change)).toBe('added');
      expect(await store.list()).toEqual(entries);
    });

    test('are stored once', async () => {
      const first = entryOf('evil.example', { reason: 'first' });
      await store.add(first, change);
      expect(await store.add({ ...first, reason: 'second' }, change)).toBe('exists');
      expect(await store.list()).toEqual([first]);
    });

    test('are deleted when they are removed, once', async () => {
      const entry = entryOf('evil.example');
      await store.add(entry, change);
      expect(await store.remove(entry.id, change)).toBe(true);
      expect(await store.remove(entry.id, change)).toBe(false);
      expect(await store.list()).toEqual([]);
      expect(await store.add(entry, change)).toBe('added');
    });

    test('have a new revision after every change, and only then', async () => {
      const entry = entryOf('evil.example');
      const seen = [await store.revision()];
      await store.add(entry, change);
      seen.push(await store.revision());
      await store.add(entry, change);
      await store.remove('blk_nothing', change);
      expect(await store.revision()).toBe(seen[1]!);
      await store.remove(entry.id, change);
      seen.push(await store.revision());
      expect(new Set(seen).size).toBe(3);
    });

    test('leave a record of every change, and none of a no-op', async () => {
      const entry = entryOf('evil.example', { reason: 'phishing' });
      await store.add(entry, change);
      await store.add(entry, change);
      await store.remove(entry.id, { ...change, at: 6_000 });
      await store.remove(entry.id, change);
      const facts = { id: entry.id, entry: 'evil.example', reason: 'phishing' };
      const common = { actor: change.actor, subject: { kind: 'domain', id: 'evil.example' } };
      expect(await opened.trail()).toMatchObject([
        { ...common, at: 5_000, action: 'blocklist.added', before: null, after: facts },
        { ...common, at: 6_000, action: 'blocklist.removed', before: facts, after: null },
      ]);
    });

    test('are added once and removed once, however many processes do so at the same time', async () => {
      const stores = [store, await opened.reopen(), await opened.reopen()];
      const revisions = new Set([await store.revision()]);
      for (let round = 0; round < 8; round += 1) {
        const entry = entryOf(`evil${round}.example`);
        const added = await Promise.all(stores.map(each => each.add(entry, change)));
        expect(added.sort()).toEqual(['added', 'exists', 'exists']);
        for (const each of stores) revisions.add(await each.revision());
        if (round % 2 === 0) continue;
        const removed = await Promise.all(stores.map(each => each.remove(entry.id, change)));
        expect(removed.filter(Boolean)).toHaveLength(1);
        revisions.add(await store.revision());
      }
      expect(revisions.size).toBe(13);
      const kept = ['evil0.example', 'evil2.example', 'evil4.example', 'evil6.example'];
      for (const each of stores) expect((await each.list()).map(({ entry }) => entry)).toEqual(kept);
      expect(await opened.trail()).toHaveLength(12);
    });

    test('added by several processes at once are all stored, in one order, each with a revision', async () => {
      const stores = [store, await opened.reopen(), await opened.reopen()];
      const before = await store.revision();
      await Promise.all(
        Array.from({ length: 12 }, (_, n) => stores[n % 3]!.add(entryOf(`evil${n}.example`), change)),
      );
      const [first, ...others] = await Promise.all(stores.map(each => each.list()));
      expect(first).toHaveLength(12);
      for (const other of others) expect(other).toEqual(first!);
      expect((await store.revision()) - before).toBe(12);
    });
  });
}
