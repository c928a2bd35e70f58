import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { confirmedStore } from './confirmed-store.ts';
import type { LinkStore } from './store.ts';
import { insertItem, sampleLink, samplesStart as start } from './store-samples.ts';
import { createMemoryStore } from './stores/memory.ts';

/** The fate of a write: it succeeds, is done without an answer, gets lost before it is done, or is rejected. */
type Fate = 'passes' | 'answer lost' | 'request lost' | 'refused';

let clock: ManualClock;
let memory: LinkStore;
let fates: Fate[];
let writes: number;
let faulty: LinkStore;
let store: LinkStore;

const unknown = new Problem('store_unavailable', { outcome: 'unknown' });
const none = new Problem('store_unavailable', { outcome: 'none' });

beforeEach(() => {
  clock = new ManualClock();
  memory = createMemoryStore();
  fates = [];
  writes = 0;
  const meet = async <Result>(write: () => Promise<Result>): Promise<Result> => {
    writes += 1;
    const fate = fates.shift() ?? 'passes';
    if (fate === 'refused') throw none;
    if (fate === 'request lost') throw unknown;
    const result = await write();
    if (fate === 'answer lost') throw unknown;
    return result;
  };
  faulty = {
    ...memory,
    insert: items => meet(() => memory.insert(items)),
    replace: (link, trace) => meet(() => memory.replace(link, trace)),
  };
  store = confirmedStore(faulty, clock);
});

/** The result of the call, while time passes for its backoff. */
async function settled<Result>(call: Promise<Result>): Promise<Result | Problem> {
  let result: Result | Problem | undefined;
  call.then(
    value => (result = value),
    error => (result = error),
  );
  while (result === undefined) {
    await new Promise(resolve => setImmediate(resolve));
    clock.advance(50);
  }
  return result;
}

const alias = (code: string) => insertItem(sampleLink(code, { origin: 'custom' }), { existing: 'same-code' });
const record = { ownerId: 'acc_1', key: 'k', fingerprint: 'f', createdAt: start, validAfter: start };

describe('an insert whose answer is lost', () => {
  describe.each([
    ['a generated code', insertItem(sampleLink('code'))],
    ['an alias', alias('alias')],
    ['an idempotency key', insertItem(sampleLink('keyed'), { idempotency: record })],
    ['a link that may be found by its URL', insertItem(sampleLink('sought'), { existing: 'same-url' })],
  ])('counts as inserted: %s', (_, item) => {
    test.each(['answer lost', 'request lost'] as const)('%s', async fate => {
      fates = [fate];
      expect(await settled(store.insert([item]))).toEqual([{ kind: 'inserted' }]);
      expect(await memory.find(item.link.code)).toEqual(item.link);
    });
  });

  test('of a code that another owner has is taken', async () => {
    await memory.insert([insertItem(sampleLink('theirs', { ownerId: 'acc_2' }))]);
    fates = ['request lost'];
    expect(await settled(store.insert([insertItem(sampleLink('theirs'))]))).toEqual([{ kind: 'taken' }]);
  });

  test('of an alias that its owner had before returns that link', async () => {
    const earlier = sampleLink('mine', { origin: 'custom', createdAt: start - 1 });
    await memory.insert([insertItem(earlier)]);
    fates = ['request lost'];
    expect(await settled(store.insert([alias('mine')]))).toEqual([{ kind: 'found', link: earlier }]);
  });

  test('stays unknown while retries fail, whatever their own outcome', async () => {
    fates = ['answer lost', 'refused', 'refused', 'refused', 'refused'];
    expect(await settled(store.insert([alias('a')]))).toBe(unknown);
    expect(writes).toBe(3);
  });

  test('is not retried after a wait that was long already, nor when it is known that nothing was done', async () => {
    fates = ['refused'];
    expect(await settled(store.insert([alias('a')]))).toBe(none);
    const slow = confirmedStore(
      {
        ...memory,
        insert: async () => {
          writes += 1;
          clock.advance(2_001);
          throw unknown;
        },
      },
      clock,
    );
    writes = 0;
    expect(await settled(slow.insert([alias('a')]))).toBe(unknown);
    expect(writes).toBe(1);
  });

  test('is not confirmed by what can be read but could still be lost', async () => {
    const unconfirmed = confirmedStore({ ...faulty, confirmCommits: () => Promise.reject(unknown) }, clock);
    fates = ['answer lost'];
    expect(await settled(unconfirmed.insert([alias('a')]))).toBe(unknown);
    expect(await memory.find('a')).toBeDefined();
    fates = ['request lost'];
    expect(await settled(unconfirmed.insert([alias('b')]))).toEqual([{ kind: 'inserted' }]);
  });

  test('among others is retried alone', async () => {
    const given: number[] = [];
    const some = confirmedStore(
      {
        ...memory,
        async insert(items) {
          given.push(items.length);
          const outcomes = await memory.insert(items);
          if (given.length > 1) return outcomes;
          return [outcomes[0]!, { kind: 'failed', problem: unknown }, { kind: 'failed', problem: none }];
        },
      },
      clock,
    );
    expect(await settled(some.insert(['a', 'b', 'c'].map(alias)))).toEqual([
      { kind: 'inserted' },
      { kind: 'inserted' },
      { kind: 'failed', problem: none },
    ]);
    expect(given).toEqual([3, 1]);
  });
});

describe('an edit whose answer is lost', () => {
  const edited = sampleLink('edited', { title: 'New', version: 2, updatedAt: start + 1 });
  beforeEach(() => memory.insert([insertItem(sampleLink('edited'))]));

  test.each(['answer lost', 'request lost'] as const)('is made once: %s', async fate => {
    fates = [fate];
    expect(await settled(store.replace(edited))).toBe('replaced');
    expect(await memory.find('edited')).toEqual(edited);
    expect((await memory.changes(0, 10)).changes.filter(({ code }) => code === 'edited')).toHaveLength(1);
  });

  test('that another edit preceded is a conflict', async () => {
    await memory.replace({ ...edited, title: 'Theirs' });
    fates = ['request lost'];
    expect(await settled(store.replace(edited))).toBe('conflict');
  });

  test('is not confirmed by what can be read but could still be lost', async () => {
    const unconfirmed = confirmedStore({ ...faulty, confirmCommits: () => Promise.reject(unknown) }, clock);
    fates = ['answer lost'];
    expect(await settled(unconfirmed.replace(edited))).toBe(unknown);
    expect(await memory.find('edited')).toEqual(edited);
  });

  test('stays unknown while retries fail', async () => {
    fates = ['answer lost', 'refused', 'refused'];
    expect(await settled(store.replace(edited))).toBe(unknown);
  });
});
