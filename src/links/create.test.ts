import { describe, expect, test } from 'bun:test';
import { allowEveryUrl } from '../abuse/judge.ts';
import { createUrlPolicy } from '../abuse/url-policy.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { createAliasPolicy } from './alias-policy.ts';
import type { LinkContext } from './context.ts';
import { createLinks } from './create.ts';
import type { InsertItem } from './store.ts';
import { createMemoryStore } from './stores/memory.ts';

const busy = new Problem('overloaded');

/** A store that fails from its nth call on, and how many links each call brought it. */
function contextFailingFrom(call: number, error: Error): { context: LinkContext; calls: number[] } {
  const memory = createMemoryStore();
  const calls: number[] = [];
  const insert = (items: readonly InsertItem[]) => {
    calls.push(items.length);
    return calls.length >= call ? Promise.reject(error) : memory.insert(items);
  };
  const context: LinkContext = {
    store: { ...memory, insert },
    generator: {
      available: () => 0,
      close: () => {},
      mint: () => {
        throw new Error('nothing is minted for aliases');
      },
    },
    urlPolicy: createUrlPolicy({ ownHosts: ['sho.rt'] }),
    judgeUrl: allowEveryUrl,
    aliasPolicy: createAliasPolicy({ reserved: [], offensive: [] }),
    claimOf: () => undefined,
    anonymousAllowed: true,
    clock: new ManualClock(),
  };
  return { context, calls };
}

const inputs = Array.from({ length: 1_200 }, (_, index) => ({
  longUrl: `https://example.com/${index}`,
  customAlias: `alias-${index}`,
}));
const create = (context: LinkContext) => createLinks(context, fakeActor('acc_1'), inputs);

describe('a call for many links', () => {
  test('gives the store a few hundred at a time', async () => {
    const { context, calls } = contextFailingFrom(9, busy);
    const results = await create(context);
    expect(calls).toEqual([500, 500, 200]);
    const codes = results.map(result => (result instanceof Problem ? result.code : result.link.code));
    expect(codes).toEqual(inputs.map(({ customAlias }) => customAlias));
  });

  test('is refused as a whole while nothing is made', async () => {
    const { context } = contextFailingFrom(1, busy);
    expect(await create(context).catch(error => error)).toBe(busy);
  });

  test('is answered with what was made before a refusal', async () => {
    const { context } = contextFailingFrom(2, busy);
    const results = await create(context);
    expect(results.slice(0, 500).every(result => !(result instanceof Problem))).toBe(true);
    expect(new Set(results.slice(500))).toEqual(new Set([busy]));
  });

  test('fails with a fault, which has to be looked at', async () => {
    const fault = new Error('a bug');
    expect(await create(contextFailingFrom(2, fault).context).catch(error => error)).toBe(fault);
  });
});
