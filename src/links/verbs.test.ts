import { beforeEach, describe, expect, test } from 'bun:test';
import { allowEveryUrl } from '../abuse/judge.ts';
import { createUrlPolicy } from '../abuse/url-policy.ts';
import { anonymous } from '../accounts/account.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock, systemClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { systemRandom } from '../base/random.ts';
import type { CodeGenerator } from '../codes/generator.ts';
import { type CodeStrategy, codeStrategies, createCodes } from '../codes/start.ts';
import { createAliasPolicy } from './alias-policy.ts';
import { announcingStore } from './announcing-store.ts';
import type { LinkContext } from './context.ts';
import { createLink, createLinks } from './create.ts';
import { listLinks, readLink } from './read.ts';
import type { LinkStore } from './store.ts';
import { createMemoryStore } from './stores/memory.ts';
import { removeLink, updateLink } from './update.ts';

const owner = fakeActor('acc_1');
const stranger = fakeActor('acc_2');
const admin = fakeActor('acc_0', { role: 'admin' });
const longUrl = 'https://example.com/page';
const secret = new Uint8Array(32).fill(7);

let clock: ManualClock;
let store: LinkStore;
let changed: string[];

function contextFor(
  strategy: CodeStrategy = 'range',
  overrides: Partial<LinkContext> = {},
  length = strategy === 'snowflake' ? 11 : 7,
): LinkContext {
  const codes = createCodes({
    secret,
    strategy,
    length,
    rangeSize: 1_000,
    machineId: 1,
    source: store,
    isAllowed: () => true,
    clock: systemClock,
    random: systemRandom,
  });
  return {
    store,
    generator: codes.generator,
    urlPolicy: createUrlPolicy({ ownHosts: ['sho.rt'] }),
    judgeUrl: allowEveryUrl,
    aliasPolicy: createAliasPolicy({ reserved: ['admin'], offensive: [] }),
    claimOf: codes.claimOf,
    anonymousAllowed: true,
    clock,
    ...overrides,
  };
}

beforeEach(() => {
  clock = new ManualClock();
  store = announcingStore(createMemoryStore(), codes => void changed.push(...codes));
  changed = [];
});

/** A generator that returns the given codes in turn, like one whose codes may be taken. */
function scripted(...codes: string[]): CodeGenerator {
  return {
    mint: async () => ({ code: codes.shift() ?? 'last', leased: false }),
    available: () => codes.length,
    close: () => {},
  };
}

describe('creating', () => {
  test.each(codeStrategies)(
    '%s codes are made, kept and never the same for different URLs',
    async strategy => {
      const context = contextFor(strategy);
      const inputs = Array.from({ length: 500 }, (_, n) => ({ longUrl: `https://example.com/${n}` }));
      const results = await createLinks(context, owner, inputs);
      const codes = results.map(result => (result instanceof Problem ? '' : result.link.code));
      expect(new Set(codes).size).toBe(500);
      expect(await store.find(codes[321]!)).toMatchObject({
        longUrl: 'https://example.com/321',
        ownerId: 'acc_1',
      });
      context.generator.close();
    },
  );

  test('unleased codes are claimed, so that a later lease leaves them out', async () => {
    const context = contextFor('random');
    const { link } = await createLink(context, owner, { longUrl });
    expect(await store.claims(7)).toEqual([context.claimOf(link.code)!.id]);
  });

  test('with hashed codes the same URL is the same link for its owner, and another for someone else', async () => {
    const context = contextFor('hash');
    const first = await createLink(context, owner, { longUrl });
    const again = await createLink(context, owner, { longUrl });
    const foreign = await createLink(context, stranger, { longUrl });
    expect([first.kind, again.kind, foreign.kind]).toEqual(['created', 'found', 'created']);
    expect(again.link.code).toBe(first.link.code);
    expect(foreign.link.code).not.toBe(first.link.code);
    await removeLink(context, owner, first.link.code);
    const afresh = await createLink(context, owner, { longUrl });
    expect(afresh.kind).toBe('created');
    expect(afresh.link.code).not.toBe(first.link.code);
  });

  test('with hashed codes a link that another process made costs one write to find, and later none', async () => {
    const { link } = await createLink(contextFor('hash'), owner, { longUrl });
    let inserts = 0;
    const counted: LinkStore = {
      ...store,
      insert(items) {
        inserts += 1;
        return store.insert(items);
      },
    };
    const elsewhere = contextFor('hash', { store: counted });
    for (let round = 0; round < 3; round += 1) {
      expect(await createLink(elsewhere, owner, { longUrl })).toEqual({ kind: 'found', link });
    }
    expect(inserts).toBe(1);
  });

  test('a taken code is replaced by the next one; when all are taken the caller gets an error', async () => {
    const context = contextFor('range', { generator: scripted('one', 'one', 'two') });
    expect((await createLink(context, owner, { longUrl })).link.code).toBe('one');
    expect((await createLink(context, owner, { longUrl })).link.code).toBe('two');
    await createLink(context, owner, { longUrl });
    await expect(createLink(context, owner, { longUrl })).rejects.toMatchObject({ code: 'codes_exhausted' });
  });

  test('anonymous callers may not choose an alias, nor create anything where the operator forbids it', async () => {
    const context = contextFor();
    expect((await createLink(context, anonymous, { longUrl })).link.ownerId).toBeNull();
    await expect(createLink(context, anonymous, { longUrl, customAlias: 'mine' })).rejects.toMatchObject({
      code: 'unauthorized',
    });
    const closed = contextFor('range', { anonymousAllowed: false });
    await expect(createLink(closed, anonymous, { longUrl })).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('a bad item of many fails alone, in its place', async () => {
    const results = await createLinks(contextFor(), owner, [
      { longUrl },
      { longUrl: 'javascript:alert(1)' },
      { longUrl, customAlias: 'Admin' },
      { longUrl, customAlias: 'fine' },
      { longUrl: `${longUrl}/other`, customAlias: 'fine' },
      { longUrl, customAlias: 'fine' },
      { longUrl, expiresAt: clock.now() },
      { longUrl: 'https://sho.rt/loop' },
    ]);
    expect(results.map(result => (result instanceof Problem ? result.code : result.kind))).toEqual([
      'created',
      'invalid_url',
      'alias_reserved',
      'created',
      'alias_taken',
      'found',
      'invalid_expiry',
      'invalid_url',
    ]);
  });

  test('a repeated key gives the first answer for a day, to the same owner and the same request', async () => {
    const context = contextFor();
    const first = await createLink(context, owner, { longUrl, title: 'T' }, 'key');
    const again = await createLink(context, owner, { title: 'T', longUrl }, 'key');
    expect(again).toEqual(first);
    await expect(createLink(context, owner, { longUrl }, 'key')).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    expect((await createLink(context, stranger, { longUrl, title: 'T' }, 'key')).kind).toBe('created');
    clock.advance(24 * 60 * 60 * 1_000 + 1);
    expect((await createLink(context, owner, { longUrl }, 'key')).kind).toBe('created');
  });

  test('a repeat gets the first answer also when it would be found or rejected by now', async () => {
    const context = contextFor();
    const input = { longUrl, findExisting: true, expiresAt: clock.now() + 1_000 };
    const first = await createLink(context, owner, input, 'key');
    expect(await createLink(context, owner, input, 'key')).toEqual(first);
    clock.advance(2_000);
    expect(await createLink(context, owner, input, 'key')).toEqual(first);
  });

  test.each(['range', 'hash'] as const)(
    'with %s codes a repeat of what found a link gets that link as found, also when it is deleted',
    async strategy => {
      const context = contextFor(strategy);
      const { link } = await createLink(context, owner, { longUrl });
      const found = { kind: 'found', link } as const;
      const input = { longUrl, findExisting: strategy === 'range' };
      expect(await createLink(context, owner, input, 'key')).toEqual(found);
      await removeLink(context, owner, link.code);
      expect(await createLink(context, owner, input, 'key')).toEqual(found);
      expect((await createLink(context, owner, input, 'another key')).kind).toBe('created');
    },
  );

  test('a request for an existing link gets one link per URL, within a call and concurrently', async () => {
    const context = contextFor();
    const input = { longUrl, findExisting: true };
    const calls = await Promise.all([
      createLinks(context, owner, [input, input]),
      createLinks(context, owner, [input, input]),
      createLink(context, owner, input),
    ]);
    const results = calls.flat().map(result => (result instanceof Problem ? result.code : result));
    expect(
      new Set(results.map(result => (typeof result === 'string' ? result : result.link.code))).size,
    ).toBe(1);
    const kinds = results.map(result => (typeof result === 'string' ? result : result.kind));
    expect(kinds.toSorted()).toEqual(['created', 'found', 'found', 'found', 'found']);
  });

  test('a caller without an account never gets a link that another client has described', async () => {
    for (const [strategy, input] of [
      ['range', { longUrl, findExisting: true }],
      ['hash', { longUrl }],
    ] as const) {
      const context = contextFor(strategy);
      await createLink(context, anonymous, { ...input, title: 'private', tags: ['t'], maxClicks: 3 });
      const { kind, link } = await createLink(context, anonymous, input);
      expect([kind, link.title, link.tags, link.maxClicks]).toEqual(['created', null, [], null]);
    }
  });

  test('with hashed codes a URL can be shortened however many dead links it has', async () => {
    const context = contextFor('hash');
    for (const actor of [owner, anonymous]) {
      for (let round = 0; round < 30; round += 1) {
        const { kind, link } = await createLink(context, actor, { longUrl });
        expect(kind).toBe('created');
        await removeLink(context, admin, link.code);
      }
    }
    const { link } = await createLink(context, owner, { longUrl });
    expect(await createLink(context, owner, { longUrl })).toEqual({ kind: 'found', link });
  });

  test('an expired code of any strategy and length stays out of reach of aliases', async () => {
    for (const strategy of ['random', 'snowflake'] as const) {
      const context = contextFor(strategy, {}, 12);
      const { link } = await createLink(context, owner, { longUrl, expiresAt: clock.now() + 1 });
      await store.purgeExpired(clock.now() + 2, 10);
      await expect(createLink(context, stranger, { longUrl, customAlias: link.code })).rejects.toMatchObject({
        code: 'alias_taken',
      });
    }
  });

  test('a large call yields to others while its codes are found', async () => {
    let turn = 0;
    let ended = false;
    const count = (): void => {
      turn += 1;
      if (!ended) setImmediate(count);
    };
    setImmediate(count);
    const mintedInTurn = new Map<number, number>();
    const { generator } = contextFor('random');
    const context = contextFor('random', {
      generator: {
        ...generator,
        mint(request) {
          mintedInTurn.set(turn, (mintedInTurn.get(turn) ?? 0) + 1);
          return generator.mint(request);
        },
      },
    });
    await createLinks(
      context,
      owner,
      Array.from({ length: 2_000 }, (_, n) => ({ longUrl: `${longUrl}/${n}` })),
    );
    ended = true;
    expect(Math.max(...mintedInTurn.values())).toBeLessThanOrEqual(200);
  });

  test('clients without an account do not get one another’s links by guessing a key', async () => {
    const context = contextFor();
    const first = await createLink(context, anonymous, { longUrl }, 'key');
    const other = await createLink(context, anonymous, { longUrl: 'https://example.com/other' }, 'key');
    expect(other.kind).toBe('created');
    expect((await createLink(context, anonymous, { longUrl }, 'key')).link).toEqual(first.link);
  });

  test('duplicate tags are stored once', async () => {
    const { link } = await createLink(contextFor(), owner, { longUrl, tags: ['a', 'b', 'a'] });
    expect(link.tags).toEqual(['a', 'b']);
  });
});

describe('reading and changing', () => {
  test('a link is visible to its owner and an admin, and to no one else', async () => {
    const context = contextFor();
    const { link } = await createLink(context, owner, { longUrl });
    for (const actor of [owner, admin])
      expect((await readLink(context, actor, link.code)).code).toBe(link.code);
    for (const actor of [stranger, anonymous]) {
      await expect(readLink(context, actor, link.code)).rejects.toMatchObject({ code: 'not_found' });
      await expect(updateLink(context, actor, link.code, { title: 'x' })).rejects.toMatchObject({
        code: 'not_found',
      });
      await expect(removeLink(context, actor, link.code)).rejects.toMatchObject({ code: 'not_found' });
    }
    expect((await store.find(link.code))?.version).toBe(1);
  });

  test('an edit changes what it names, keeps the rest, and is announced', async () => {
    const context = contextFor();
    const { link } = await createLink(context, owner, {
      longUrl,
      title: 'T',
      tags: ['t'],
      expiresAt: clock.now() + 1_000,
    });
    clock.advance(10);
    const edited = await updateLink(context, owner, link.code, { expiresAt: null, status: 'disabled' });
    expect(edited).toEqual({
      ...link,
      expiresAt: null,
      status: 'disabled',
      updatedAt: clock.now(),
      version: 2,
    });
    expect(changed).toEqual([link.code]);
  });

  test('a rejected edit changes nothing', async () => {
    const context = contextFor();
    const { link } = await createLink(context, owner, { longUrl });
    await expect(
      updateLink(context, owner, link.code, { longUrl: 'ftp://x/', title: 'x' }),
    ).rejects.toBeInstanceOf(Problem);
    await expect(updateLink(context, owner, link.code, { expiresAt: 0 })).rejects.toBeInstanceOf(Problem);
    expect(await store.find(link.code)).toEqual(link);
    expect(changed).toEqual([]);
  });

  test('concurrent edits are all applied, one after the other', async () => {
    const context = contextFor();
    const { link } = await createLink(context, owner, { longUrl });
    await Promise.all([
      updateLink(context, owner, link.code, { title: 'T' }),
      updateLink(context, owner, link.code, { tags: ['t'] }),
      updateLink(context, owner, link.code, { redirectType: 301 }),
    ]);
    expect(await store.find(link.code)).toMatchObject({
      title: 'T',
      tags: ['t'],
      redirectType: 301,
      version: 4,
    });
  });

  test('a deleted link keeps nothing of its destination, and its alias is taken forever', async () => {
    const context = contextFor();
    await createLink(context, owner, { longUrl, customAlias: 'gone', title: 'secret', tags: ['secret'] });
    await removeLink(context, owner, 'gone');
    expect(JSON.stringify(await store.find('gone'))).not.toMatch(/secret|example\.com/);
    await expect(createLink(context, owner, { longUrl, customAlias: 'gone' })).rejects.toMatchObject({
      code: 'alias_taken',
    });
    await expect(readLink(context, owner, 'gone')).rejects.toMatchObject({ code: 'link_deleted' });
    await expect(removeLink(context, owner, 'gone')).rejects.toMatchObject({ code: 'link_deleted' });
  });

  test('listing shows the caller’s own links, admin or not', async () => {
    const context = contextFor();
    for (const actor of [owner, stranger, admin, anonymous]) await createLink(context, actor, { longUrl });
    const query = {
      limit: 10,
      order: 'newest',
      cursor: undefined,
      tag: undefined,
      state: undefined,
      search: undefined,
    } as const;
    for (const actor of [owner, stranger, admin]) {
      const { links } = await listLinks(context, actor, query);
      expect(links.map(({ ownerId }) => ownerId)).toEqual([
        actor.kind === 'account' ? actor.accountId : null,
      ]);
    }
    await expect(listLinks(context, anonymous, query)).rejects.toMatchObject({ code: 'unauthorized' });
  });
});
