import { describe, expect, test } from 'bun:test';
import { allowEveryUrl } from '../abuse/judge.ts';
import { createUrlPolicy } from '../abuse/url-policy.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { createAliasPolicy } from './alias-policy.ts';
import type { LinkContext } from './context.ts';
import { createLink, createLinks } from './create.ts';
import { gatheringStore } from './insert-many.ts';
import type { InsertItem } from './store.ts';
import { createMemoryStore } from './stores/memory.ts';
import { removeLink, updateLink } from './update.ts';

const busy = new Problem('overloaded');

/** A store that fails from its nth call on, and how many links each call had. */
function contextFailingFrom(
  call: number,
  error: Error,
  sharesCommits = false,
): { context: LinkContext; calls: number[] } {
  const memory = createMemoryStore();
  const calls: number[] = [];
  const insert = (items: readonly InsertItem[]) => {
    calls.push(items.length);
    return calls.length >= call ? Promise.reject(error) : memory.insert(items);
  };
  const context: LinkContext = {
    store: { ...memory, insert, sharesCommits },
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

const inputs = Array.from({ length: 4_800 }, (_, index) => ({
  longUrl: `https://example.com/${index}`,
  customAlias: `alias-${index}`,
}));
const create = (context: LinkContext) => createLinks(context, fakeActor('acc_1'), inputs);

describe('a call for many links', () => {
  test('gives the store two thousand at a time', async () => {
    const { context, calls } = contextFailingFrom(9, busy);
    const results = await create(context);
    expect(calls).toEqual([2_000, 2_000, 800]);
    const codes = results.map(result => (result instanceof Problem ? result.code : result.link.code));
    expect(codes).toEqual(inputs.map(({ customAlias }) => customAlias));
  });

  test('gives a store that shares commits all at once, unless links have traces', async () => {
    const { context, calls } = contextFailingFrom(9, busy, true);
    await create(context);
    expect(calls.splice(0)).toEqual([4_800]);
    const others = inputs.map(input => ({ ...input, customAlias: `${input.customAlias}-held` }));
    const judgeUrl = async () => ({ verdict: 'quarantine', score: 60, reasons: [] }) as const;
    await createLinks({ ...context, judgeUrl }, fakeActor('acc_1'), others);
    expect(calls).toEqual([2_000, 2_000, 800]);
  });

  test('is rejected as a whole while nothing is created', async () => {
    const { context } = contextFailingFrom(1, busy);
    expect(await create(context).catch(error => error)).toBe(busy);
  });

  test('is answered with the links created before a rejection', async () => {
    const { context, calls } = contextFailingFrom(2, busy);
    const results = await create(context);
    // The rest is not tried.
    expect(calls).toEqual([2_000, 2_000]);
    expect(results.slice(0, 2_000).every(result => !(result instanceof Problem))).toBe(true);
    expect(new Set(results.slice(2_000))).toEqual(new Set([busy]));
  });

  test('reports for items that were not tried that nothing was done', async () => {
    const { context } = contextFailingFrom(2, new Problem('store_unavailable'));
    const outcomes = (await create(context)).slice(2_000).map(result => (result as Problem).outcome);
    expect(outcomes).toEqual([...Array(2_000).fill('unknown'), ...Array(800).fill('none')]);
  });

  test('returns the codes of created links also when the store fails while retrying the rest', async () => {
    const { context, calls } = contextFailingFrom(2, busy);
    // Of two in one call that have the same code the first gets it.
    const codes = ['same', 'same', 'other'];
    const mint = async () => ({ code: codes.shift()!, leased: false });
    const minting = { ...context, generator: { ...context.generator, mint } };
    const results = await createLinks(
      minting,
      fakeActor('acc_1'),
      inputs.slice(0, 2).map(({ longUrl }) => ({ longUrl })),
    );
    expect(results).toEqual([expect.objectContaining({ kind: 'created' }), busy]);
    expect(calls).toEqual([2, 1]);
  });

  test('fails with a fault, which has to be investigated', async () => {
    const fault = new Error('a bug');
    expect(await create(contextFailingFrom(2, fault).context).catch(error => error)).toBe(fault);
  });
});

describe('a call for many links to a store in which inserts share a commit', () => {
  test('gives the store all of them at once', async () => {
    const { context, calls } = contextFailingFrom(9, busy, true);
    const codes = (await create(context)).map(result =>
      result instanceof Problem ? result.code : result.link.code,
    );
    expect(codes).toEqual(inputs.map(({ customAlias }) => customAlias));
    expect(calls).toEqual([4_800]);
  });

  test('is rejected as a whole', async () => {
    const { context } = contextFailingFrom(1, busy, true);
    expect(await create(context).catch(error => error)).toBe(busy);
  });

  test('fails with a fault, which has to be investigated', async () => {
    const fault = new TypeError('a bug');
    const { context } = contextFailingFrom(1, fault, true);
    expect(await create(context).catch(error => error)).toBe(fault);
  });
});

describe('creates that arrive together', () => {
  const owner = fakeActor('acc_1');
  const gathered = (sharesCommits: boolean, error = busy, failsFrom = 9) => {
    const { context, calls } = contextFailingFrom(failsFrom, error, sharesCommits);
    const judgeUrl: LinkContext['judgeUrl'] = ({ url }) =>
      url.includes('held') ? { verdict: 'quarantine', score: 60, reasons: [] } : allowEveryUrl(url as never);
    let minted = 0;
    const generator = { ...context.generator, mintNow: () => `code-${minted++}` };
    return { context: { ...context, generator, judgeUrl, store: gatheringStore(context.store) }, calls };
  };
  const createAll = (
    { context }: Pick<ReturnType<typeof gathered>, 'context'>,
    paths: readonly string[],
    customAlias?: string,
  ) =>
    Promise.all(
      paths.map(path =>
        createLink(context, owner, {
          longUrl: `https://example.com/${path}`,
          customAlias: path === customAlias ? customAlias : undefined,
        }).then(
          ({ link }) => link.longUrl,
          (problem: Problem) => problem.code,
        ),
      ),
    );

  test('are one call to a store in which inserts share a commit, each with its own outcome', async () => {
    const store = gathered(true);
    const paths = ['a', 'b', 'c'];
    expect(await createAll(store, paths)).toEqual(paths.map(path => `https://example.com/${path}`));
    await createAll(store, ['d']);
    expect(store.calls).toEqual([3, 1]);
  });

  test('are several calls when there are too many for one', async () => {
    const store = gathered(true);
    const paths = Array.from({ length: 4_500 }, (_, n) => `${n}`);
    expect(await createAll(store, paths)).toEqual(paths.map(path => `https://example.com/${path}`));
    expect(store.calls).toEqual([2_000, 2_000, 500]);
  });

  test('are rejected together', async () => {
    expect(await createAll(gathered(true, busy, 1), ['a', 'b'])).toEqual(['overloaded', 'overloaded']);
  });

  test('do not wait for one that leaves a trace, or for one with an alias', async () => {
    const store = gathered(true);
    await createAll(store, ['a', 'held', 'b']);
    await createAll(store, ['c', 'alias', 'd'], 'alias');
    expect(store.calls.toSorted()).toEqual([1, 1, 2, 2]);
  });

  test('are calls of their own to any other store', async () => {
    const store = gathered(false);
    await createAll(store, ['a', 'b']);
    expect(store.calls).toEqual([1, 1]);
  });
});

describe('an alias that is requested again', () => {
  const owner = fakeActor('acc_1');
  const longUrl = 'https://example.com/there';
  const wish = { longUrl, customAlias: 'mine' };
  const taken = { code: 'alias_taken' };
  const contextWith = (more: Partial<LinkContext> = {}): LinkContext => ({
    ...contextFailingFrom(Number.POSITIVE_INFINITY, busy).context,
    ...more,
  });

  test('with the same URL returns the link to its owner while it is live', async () => {
    const context = contextWith();
    const { link } = await createLink(context, owner, wish);
    const spelled = { ...wish, longUrl: 'HTTPS://example.com:443/there', title: 'another' };
    expect(await createLink(context, owner, spelled)).toEqual({ kind: 'found', link });
    await expect(createLink(context, fakeActor('acc_2'), wish)).rejects.toMatchObject(taken);
    const elsewhere = { ...wish, longUrl: `${longUrl}/2` };
    await expect(createLink(context, owner, elsewhere)).rejects.toMatchObject(taken);
    await updateLink(context, owner, 'mine', { status: 'disabled' });
    await expect(createLink(context, owner, wish)).rejects.toMatchObject(taken);
    await removeLink(context, owner, 'mine');
    await expect(createLink(context, owner, wish)).rejects.toMatchObject(taken);
  });

  test('also returns a link that moderation holds as it would hold the new one', async () => {
    const judgeUrl = async () => ({ verdict: 'quarantine', score: 60, reasons: [] }) as const;
    const wary = contextWith({ judgeUrl });
    const { link } = await createLink(wary, owner, wish);
    expect(link.status).toBe('quarantined');
    expect(await createLink(wary, owner, wish)).toEqual({ kind: 'found', link });
    const trusting = { ...wary, judgeUrl: allowEveryUrl };
    await expect(createLink(trusting, owner, wish)).rejects.toMatchObject(taken);
  });

  test('does not return a link whose code was generated', async () => {
    const context = contextWith();
    const { link } = await createLink(context, owner, wish);
    const generated = { ...link, code: 'aZ3kQ9x', origin: 'generated' } as const;
    await context.store.insert([
      { link: generated, leased: true, claim: undefined, existing: 'ignored', idempotency: undefined },
    ]);
    const input = { longUrl, customAlias: 'aZ3kQ9x' };
    await expect(createLink(context, owner, input)).rejects.toMatchObject(taken);
  });

  test('returns the same answer for as long as its idempotency key is remembered', async () => {
    const context = contextWith();
    await createLink(context, owner, wish);
    const found = await createLink(context, owner, wish, 'key');
    expect(found.kind).toBe('found');
    await updateLink(context, owner, 'mine', { longUrl: `${longUrl}/moved` });
    expect(await createLink(context, owner, wish, 'key')).toEqual(found);
  });
});
