import { beforeEach, expect, test } from 'bun:test';
import { allowEveryUrl } from '../abuse/judge.ts';
import { createUrlPolicy } from '../abuse/url-policy.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { createAliasPolicy } from './alias-policy.ts';
import type { LinkContext } from './context.ts';
import { createLink, createLinks } from './create.ts';
import { queuedStore } from './queued-store.ts';
import { createMemoryPendings, createMemoryQueue, type MemoryQueue } from './queues/fake-memory.ts';
import { createMemoryStore } from './stores/memory.ts';

const owner = fakeActor('acc_1');
const plain = { longUrl: 'https://example.com/page' };
const alias = { ...plain, customAlias: 'mine' };

let queue: MemoryQueue;
let context: LinkContext;

/** The store rejects everything; the queue accepts what may go through it. */
beforeEach(() => {
  const clock = new ManualClock();
  let minted = 0;
  queue = createMemoryQueue(clock);
  context = {
    store: queuedStore({
      store: { ...createMemoryStore(), insert: () => Promise.reject(new Problem('store_unavailable')) },
      queue,
      pendings: createMemoryPendings(clock),
      gate: { through: (_, append) => append() },
      mayBePending: () => true,
      isUnchangedSince: () => true,
      clock,
    }),
    generator: {
      mint: async () => {
        minted += 1;
        return { code: `leased${minted}`, leased: true };
      },
      available: () => 1,
      close: () => {},
    },
    urlPolicy: createUrlPolicy({ ownHosts: ['sho.rt'] }),
    judgeUrl: allowEveryUrl,
    aliasPolicy: createAliasPolicy({ reserved: [], offensive: [] }),
    claimOf: () => undefined,
    anonymousAllowed: true,
    clock,
  };
});

test('an item that the store rejects fails alone, and the caller gets the codes of the others', async () => {
  const results = await createLinks(context, owner, [plain, alias, plain]);
  expect(results.map(result => (result instanceof Problem ? result.status : result.link.code))).toEqual([
    'leased1',
    503,
    'leased2',
  ]);
  expect(await queue.behind()).toBe(2);
});

test('a call of which the store rejects everything is rejected as a whole', async () => {
  const refusal = { code: 'store_unavailable' };
  await expect(createLink(context, owner, alias)).rejects.toMatchObject(refusal);
  await expect(createLinks(context, owner, [alias, alias])).rejects.toMatchObject(refusal);
  expect(await queue.behind()).toBe(0);
});
