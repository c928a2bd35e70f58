/** The contract of a record store, as tests; every driver runs them against its real engine. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { OpenedRecords, OpenRecords } from '../../test/kit/record-engines.ts';
import { ManualClock, systemClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { systemRandom } from '../base/random.ts';
import { createRecordChanges } from './change-records.ts';
import { type JournalLine, journalKind, type Note, noteKind, titleKind } from './fake-kinds.ts';
import { check, put, type RecordStore, remove, type Stored, sortable } from './record-store.ts';

export interface RecordStoreTraits {
  /** Engines that delete expired records by themselves have nothing to sweep. */
  readonly sweeps: boolean;
  /** Whether the engine itself refuses changes of append-only records. */
  readonly locks: boolean;
}

const startMs = 1_900_000_000_000;
const dayMs = 24 * 60 * 60_000;
const noteOf = (id: string, fields: Partial<Note> = {}): Note => ({ id, book: 'a', text: id, ...fields });

export function recordStoreConformance(
  name: string,
  open: OpenRecords,
  { sweeps, locks }: RecordStoreTraits,
): void {
  describe(`record store: ${name}`, () => {
    let clock: ManualClock;
    let harness: OpenedRecords;
    let store: RecordStore;
    beforeEach(async () => {
      clock = new ManualClock(startMs);
      harness = await open(clock);
      store = harness.store;
    });
    afterEach(() => harness.dispose());

    const read = async (id: string): Promise<Stored<Note>> => (await store.get(noteKind, id))!;
    const add = async (...notes: Note[]): Promise<void> => {
      for (const note of notes) expect(await store.transact([put(noteKind, note)])).toBe('done');
    };
    const change = async (id: string, fields: Partial<Note>) => {
      const before = await read(id);
      return store.transact([put(noteKind, { ...before.value, ...fields }, before)]);
    };
    const idsIn = async (partition: string, index: 'book' | 'tag' = 'book'): Promise<string[]> =>
      (await store.query(noteKind, index, { partition }, { limit: 100 })).records.map(({ key }) => key);

    describe('a record', () => {
      test('comes back as it was written', async () => {
        const text = 'line\nwith "quotes", \u0000, 🦊 and \ud83d alone';
        await add(noteOf('n/1 #ä', { text, book: null, tags: [] }));
        const found = await read('n/1 #ä');
        expect(found.key).toBe('n/1 #ä');
        expect(found.value).toEqual({ id: 'n/1 #ä', text, book: null, tags: [] });
      });

      test('is found by kind and key', async () => {
        await add(noteOf('n1'));
        expect(await store.get(noteKind, 'n2')).toBeUndefined();
        expect(await store.get(titleKind, 'n1')).toBeUndefined();
        expect(await store.get(noteKind, 'x'.repeat(5_000))).toBeUndefined();
      });

      test('is read with others of its kind, in the order of the keys', async () => {
        await add(noteOf('n1'), noteOf('n2'), noteOf('over', { endsAt: startMs + 1 }));
        await store.transact([put(titleKind, { title: 'title', noteId: 'n1' })]);
        clock.advance(1);
        const keys = ['n2', 'missing', 'n1', 'over', 'title', 'with \u0000', 'x'.repeat(5_000), 'n2'];
        const [n1, n2] = [await read('n1'), await read('n2')];
        const none = undefined;
        expect(await store.getMany(noteKind, keys)).toEqual([n2, none, n1, none, none, none, none, n2]);
        expect(await store.getMany(noteKind, [])).toEqual([]);
        expect(await store.getMany(noteKind, ['with \u0000'])).toEqual([none]);
        const other = await harness.reopen();
        await store.transact([remove(noteKind, n1)]);
        expect(await other.getMany(noteKind, ['n1', 'n2'])).toEqual([none, n2]);
      });

      test('is found while many long lists of others are read', async () => {
        await add(noteOf('n1'));
        const lists = Array.from({ length: 8 }, (_, list) =>
          store.getMany(
            noteKind,
            Array.from({ length: 500 }, (_, n) => (n === 7 ? 'n1' : `${list}.${n}`)),
          ),
        );
        expect((await store.get(noteKind, 'n1'))?.key).toBe('n1');
        for (const found of await Promise.all(lists)) {
          expect(found).toHaveLength(500);
          expect(found.flatMap((each, position) => (each === undefined ? [] : [position]))).toEqual([7]);
        }
      });

      test('may have a long key', async () => {
        const id = 'long '.repeat(300);
        await add(noteOf(id, { text: 'short' }));
        expect((await read(id)).value.text).toBe('short');
        expect(await idsIn('a')).toEqual([id]);
      });

      test('is added once', async () => {
        await add(noteOf('n1', { text: 'first' }));
        expect(await store.transact([put(noteKind, noteOf('n1', { text: 'second' }))])).toBe('conflict');
        expect((await read('n1')).value.text).toBe('first');
      });

      test('changes only from the version that was read', async () => {
        await add(noteOf('n1'));
        const before = await read('n1');
        expect(await change('n1', { text: 'newer' })).toBe('done');
        expect(await store.transact([put(noteKind, noteOf('n1', { text: 'stale' }), before)])).toBe(
          'conflict',
        );
        expect(await store.transact([remove(noteKind, before)])).toBe('conflict');
        expect((await read('n1')).value.text).toBe('newer');
      });

      test('that was removed is gone, and a new one under its key has another version', async () => {
        await add(noteOf('n1'));
        const before = await read('n1');
        expect(await store.transact([remove(noteKind, before)])).toBe('done');
        expect(await store.get(noteKind, 'n1')).toBeUndefined();
        expect(await store.transact([remove(noteKind, before)])).toBe('conflict');
        await add(noteOf('n1'));
        expect(await store.transact([put(noteKind, noteOf('n1'), before)])).toBe('conflict');
      });

      test('is seen by other processes at once', async () => {
        const other = await harness.reopen();
        await add(noteOf('n1'));
        expect((await other.get(noteKind, 'n1'))?.value.text).toBe('n1');
        await store.transact([remove(noteKind, await read('n1'))]);
        expect(await other.get(noteKind, 'n1')).toBeUndefined();
      });
    });

    describe('a transaction', () => {
      test('writes all or nothing, across kinds', async () => {
        await add(noteOf('n1'));
        const taken = put(titleKind, { title: 'T', noteId: 'n1' });
        expect(await store.transact([taken, put(noteKind, noteOf('n2'))])).toBe('done');
        const again = put(titleKind, { title: 'T', noteId: 'n3' });
        const n1 = await read('n1');
        const writes = [put(noteKind, noteOf('n3')), remove(noteKind, n1), again];
        expect(await store.transact(writes)).toBe('conflict');
        expect(await store.get(noteKind, 'n3')).toBeUndefined();
        expect(await idsIn('a')).toEqual(['n1', 'n2']);
        expect((await store.get(titleKind, 'T'))?.value.noteId).toBe('n1');
      });

      test('can depend on what it does not change', async () => {
        await add(noteOf('n1'));
        const n1 = await read('n1');
        const seen = check(noteKind, 'n1', n1);
        const missing = check(noteKind, 'n9', undefined);
        expect(await store.transact([seen, missing, put(noteKind, noteOf('n2'))])).toBe('done');
        await change('n1', { text: 'changed' });
        expect(await store.transact([seen, put(noteKind, noteOf('n3'))])).toBe('conflict');
        await add(noteOf('n9'));
        expect(await store.transact([missing, put(noteKind, noteOf('n3'))])).toBe('conflict');
        expect(await store.get(noteKind, 'n3')).toBeUndefined();
      });

      test('that is empty is done', async () => {
        expect(await store.transact([])).toBe('done');
      });
    });

    describe('an index', () => {
      test('lists a partition in the order of its sort text, then of the key', async () => {
        await add(
          noteOf('n2', { text: 'same' }),
          noteOf('n1', { text: 'same' }),
          noteOf('n3', { text: 'Z' }),
          noteOf('n4', { text: 'sam' }),
          noteOf('n5', { text: 'é' }),
          noteOf('n6', { book: 'b' }),
          noteOf('n7', { book: null }),
        );
        expect(await idsIn('a')).toEqual(['n3', 'n4', 'n1', 'n2', 'n5']);
        expect(await idsIn('b')).toEqual(['n6']);
        expect(await idsIn('c')).toEqual([]);
      });

      test('follows the record: moved, listed several times, not listed, removed', async () => {
        await add(noteOf('n1', { tags: ['x', 'y'] }), noteOf('n2', { tags: ['x'] }));
        expect(await idsIn('x', 'tag')).toEqual(['n1', 'n2']);
        await change('n1', { book: 'b', tags: ['y', 'z'] });
        expect(await idsIn('a')).toEqual(['n2']);
        expect(await idsIn('b')).toEqual(['n1']);
        expect(await idsIn('x', 'tag')).toEqual(['n2']);
        expect(await idsIn('y', 'tag')).toEqual(['n1']);
        expect(await idsIn('z', 'tag')).toEqual(['n1']);
        await change('n1', { book: null, tags: [] });
        expect(await idsIn('b')).toEqual([]);
        expect(await idsIn('y', 'tag')).toEqual([]);
        await store.transact([remove(noteKind, await read('n2'))]);
        expect(await idsIn('a')).toEqual([]);
        expect(await idsIn('x', 'tag')).toEqual([]);
      });

      test('returns the newest state, with a version to change it by', async () => {
        await add(noteOf('n1', { tags: ['x'] }));
        await change('n1', { text: 'newer' });
        const { records } = await store.query(noteKind, 'tag', { partition: 'x' }, { limit: 10 });
        expect(records.map(({ value }) => value.text)).toEqual(['newer']);
        expect(await store.transact([put(noteKind, noteOf('n1', { text: 'newest' }), records[0]!)])).toBe(
          'done',
        );
      });

      test('is read in pages, both ways, within bounds', async () => {
        const ids = Array.from({ length: 25 }, (_, n) => `n${String(n).padStart(2, '0')}`);
        await add(...ids.map(id => noteOf(id)));
        const pagesOf = async (range: { from?: string; to?: string; descending?: boolean }) => {
          const pages: string[][] = [];
          let cursor: string | undefined;
          do {
            const page = await store.query(
              noteKind,
              'book',
              { partition: 'a', ...range },
              { limit: 10, cursor },
            );
            pages.push(page.records.map(({ key }) => key));
            cursor = page.next;
          } while (cursor !== undefined);
          return pages;
        };
        expect(await pagesOf({})).toEqual([ids.slice(0, 10), ids.slice(10, 20), ids.slice(20)]);
        const reversed = ids.toReversed();
        expect(await pagesOf({ descending: true })).toEqual([
          reversed.slice(0, 10),
          reversed.slice(10, 20),
          reversed.slice(20),
        ]);
        expect(await pagesOf({ from: 'n05', to: 'n15' })).toEqual([ids.slice(5, 15)]);
        expect(await pagesOf({ from: 'n05', to: 'n16', descending: true })).toEqual([
          ids.slice(6, 16).toReversed(),
          ['n05'],
        ]);
        expect(await pagesOf({ from: 'n24', to: 'n24' })).toEqual([[]]);
      });

      test('orders numbers as text', async () => {
        const times = [0, 7, -3, 12, startMs, 999];
        await add(...times.map((time, n) => noteOf(`n${n}`, { text: sortable(time) })));
        const { records } = await store.query(noteKind, 'book', { partition: 'a' }, { limit: 10 });
        expect(records.map(({ key }) => times[Number(key.slice(1))])).toEqual([-3, 0, 7, 12, 999, startMs]);
      });

      test('rejects a cursor that it did not issue', async () => {
        const page = { limit: 1, cursor: 'made up' };
        const refused = await store.query(noteKind, 'book', { partition: 'a' }, page).catch(error => error);
        expect(refused).toBeInstanceOf(Problem);
        expect(refused.code).toBe('invalid_request');
      });
    });

    describe('an expired record', () => {
      test('is not there, and may be added again', async () => {
        await add(noteOf('n1', { text: 'old', endsAt: startMs + 1_000 }), noteOf('n2'));
        expect(await idsIn('a')).toEqual(['n2', 'n1']);
        clock.advance(1_000);
        expect(await store.get(noteKind, 'n1')).toBeUndefined();
        expect(await idsIn('a')).toEqual(['n2']);
        await add(noteOf('n1', { text: 'a new one' }));
        expect((await read('n1')).value.text).toBe('a new one');
        expect(await idsIn('a')).toEqual(['n1', 'n2']);
      });

      test('cannot be changed by the version it had', async () => {
        await add(noteOf('n1', { endsAt: startMs + 1_000 }));
        const before = await read('n1');
        clock.advance(1_000);
        expect(await store.transact([put(noteKind, noteOf('n1'), before)])).toBe('conflict');
      });

      test('lives longer when its expiry was moved, in its indexes too', async () => {
        await add(noteOf('n1', { endsAt: startMs + 1_000 }));
        await change('n1', { endsAt: startMs + 5_000 });
        clock.advance(1_000);
        await store.removeExpired(100);
        expect((await read('n1')).value.text).toBe('n1');
        expect(await idsIn('a')).toEqual(['n1']);
      });

      test('is deleted by a sweep, and nothing else is', async () => {
        await add(...Array.from({ length: 5 }, (_, n) => noteOf(`old${n}`, { endsAt: startMs + n + 1 })));
        await add(noteOf('later', { endsAt: startMs + dayMs }), noteOf('kept'));
        expect(await store.removeExpired(10)).toBe(0);
        clock.advance(1_000);
        expect(await store.removeExpired(3)).toBe(sweeps ? 3 : 0);
        expect(await store.removeExpired(3)).toBe(sweeps ? 2 : 0);
        expect(await store.removeExpired(3)).toBe(0);
        expect(await idsIn('a')).toEqual(['kept', 'later']);
      });
    });

    test('all live records are walked through, page by page', async () => {
      await add(...Array.from({ length: 7 }, (_, n) => noteOf(`n${n}`)));
      await add(noteOf('expired', { endsAt: startMs + 1 }));
      await store.transact([put(titleKind, { title: 'T', noteId: 'n1' })]);
      clock.advance(1);
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await store.walk({ limit: 3, cursor });
        seen.push(...page.records.map(({ kind, key, value }) => `${kind} ${key} ${JSON.parse(value).text}`));
        cursor = page.next;
      } while (cursor !== undefined);
      const notes = Array.from({ length: 7 }, (_, n) => `test-note n${n} n${n}`);
      expect(seen.sort()).toEqual([...notes, 'test-title T undefined']);
    });

    const testIf = locks ? test : () => {};
    testIf('an append-only record is not changed, and not removed before its time', async () => {
      // The engine compares with its own clock.
      const times = [startMs, systemClock.now()];
      const lines: JournalLine[] = [
        { id: 'kept', lockedUntil: Math.max(...times) + dayMs },
        { id: 'old', lockedUntil: Math.min(...times) - dayMs },
      ];
      for (const line of lines) expect(await store.transact([put(journalKind, line)])).toBe('done');
      const [kept, old] = (await store.query(journalKind, 'all', { partition: 'all' }, { limit: 2 })).records;
      for (const write of [
        put(journalKind, kept!.value, kept),
        remove(journalKind, kept!),
        put(journalKind, old!.value, old),
      ]) {
        expect(
          await store.transact([write]).then(
            () => 'done',
            () => 'refused',
          ),
        ).toBe('refused');
      }
      expect(await store.transact([remove(journalKind, old!)])).toBe('done');
      expect((await store.get(journalKind, 'kept'))?.version).toBe(kept!.version);
    });

    describe('several processes at once', () => {
      let stores: RecordStore[];
      beforeEach(async () => {
        stores = [store, await harness.reopen(), await harness.reopen()];
      });
      const atOnce = <Answer>(count: number, call: (store: RecordStore, n: number) => Promise<Answer>) =>
        Promise.all(Array.from({ length: count }, (_, n) => call(stores[n % stores.length]!, n)));

      test('reserve a title for one of them', async () => {
        for (let round = 0; round < 8; round += 1) {
          const title = `title ${round}`;
          const outcomes = await atOnce(6, (each, n) => {
            const noteId = `n${round}.${n}`;
            return each.transact([
              put(titleKind, { title, noteId }),
              put(noteKind, noteOf(noteId, { book: title })),
            ]);
          });
          expect(outcomes.filter(outcome => outcome === 'done')).toHaveLength(1);
          const owner = (await store.get(titleKind, title))!.value.noteId;
          expect(await idsIn(title)).toEqual([owner]);
        }
      });

      test('do not both act on what the other changes', async () => {
        for (let round = 0; round < 8; round += 1) {
          const [a, b] = [`a${round}`, `b${round}`];
          await add(noteOf(a), noteOf(b));
          const [first, second] = [await read(a), await read(b)];
          const outcomes = await atOnce(2, (each, n) =>
            n === 0
              ? each.transact([remove(noteKind, first), check(noteKind, b, second)])
              : each.transact([remove(noteKind, second), check(noteKind, a, first)]),
          );
          expect(outcomes.filter(outcome => outcome === 'done').length).toBeLessThanOrEqual(1);
          expect((await store.get(noteKind, a)) ?? (await store.get(noteKind, b))).toBeDefined();
        }
      });

      test('lose no change when each reads, decides and tries again', async () => {
        await add(noteOf('n1', { text: '' }));
        const changes = stores.map(each => createRecordChanges(each, systemClock, systemRandom));
        await atOnce(15, (each, n) =>
          changes[n % stores.length]!.run('n1', async () => {
            const before = (await each.get(noteKind, 'n1'))!;
            const text = `${before.value.text}${n.toString(36)}`;
            return { answer: undefined, writes: [put(noteKind, { ...before.value, text }, before)] };
          }),
        );
        expect([...(await read('n1')).value.text].sort().join('')).toBe('0123456789abcde');
      });
    });
  });
}
