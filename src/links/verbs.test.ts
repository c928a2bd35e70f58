import { beforeEach, describe, expect, test } from 'bun:test';
import { createUrlPolicy } from '../abuse/url-policy.ts';
import { type Actor, anonymous } from '../accounts/account.ts';
import { createCodes } from '../app/generators.ts';
import { type CodeStrategy, codeStrategies } from '../app/settings.ts';
import { ManualClock, systemClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { systemRandom } from '../base/random.ts';
import type { CodeGenerator } from '../codes/generator.ts';
import { createAliasPolicy } from './alias-policy.ts';
import type { LinkContext } from './context.ts';
import { createLink, createLinks } from './create.ts';
import { listLinks, readLink } from './read.ts';
import type { LinkStore } from './store.ts';
import { createMemoryStore } from './stores/memory.ts';
import { removeLink, updateLink } from './update.ts';

const owner: Actor = { kind: 'account', accountId: 'acc_1', isAdmin: false, keyId: 'key_1' };
const stranger: Actor = { kind: 'account', accountId: 'acc_2', isAdmin: false, keyId: 'key_2' };
const admin: Actor = { kind: 'account', accountId: 'acc_0', isAdmin: true, keyId: 'key_0' };
const longUrl = 'https://example.com/page';
const secret = new Uint8Array(32).fill(7);

let clock: ManualClock;
let store: LinkStore;
let changed: string[];

function contextFor(strategy: CodeStrategy = 'range', overrides: Partial<LinkContext> = {}): LinkContext {
  const codes = createCodes({
    secret,
    strategy,
    length: strategy === 'snowflake' ? 11 : 7,
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
    aliasPolicy: createAliasPolicy({ reserved: ['admin'], offensive: [] }),
    claimOf: codes.claimOf,
    anonymousAllowed: true,
    clock,
    onChanged: code => changed.push(code),
    ...overrides,
  };
}

beforeEach(() => {
  clock = new ManualClock();
  store = createMemoryStore();
  changed = [];
});

/** A generator that hands out the given codes in turn, as one whose codes may be taken. */
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

  test('a taken code is replaced by the next one; when all are taken the caller hears so', async () => {
    const context = contextFor('range', { generator: scripted('one', 'one', 'two') });
    expect((await createLink(context, owner, { longUrl })).link.code).toBe('one');
    expect((await createLink(context, owner, { longUrl })).link.code).toBe('two');
    await createLink(context, owner, { longUrl });
    await expect(createLink(context, owner, { longUrl })).rejects.toMatchObject({ code: 'codes_exhausted' });
  });

  test('anonymous callers may not choose an alias, and nothing at all where the operator says so', async () => {
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
      'invalid_expiry',
      'invalid_url',
    ]);
  });

  test('a repeated key gives the first answer for a day, to the same owner and the same request', async () => {
    const context = contextFor();
    const first = await createLink(context, owner, { longUrl, title: 'T' }, 'key');
    const again = await createLink(context, owner, { title: 'T', longUrl }, 'key');
    expect([again.kind, again.link]).toEqual(['replayed', first.link]);
    await expect(createLink(context, owner, { longUrl }, 'key')).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    expect((await createLink(context, stranger, { longUrl, title: 'T' }, 'key')).kind).toBe('created');
    clock.advance(24 * 60 * 60 * 1_000 + 1);
    expect((await createLink(context, owner, { longUrl }, 'key')).kind).toBe('created');
  });

  test('a repeat gets the first answer also when it would be found or refused by now', async () => {
    const context = contextFor();
    const input = { longUrl, findExisting: true, expiresAt: clock.now() + 1_000 };
    const first = await createLink(context, owner, input, 'key');
    expect((await createLink(context, owner, input, 'key')).kind).toBe('replayed');
    clock.advance(2_000);
    expect(await createLink(context, owner, input, 'key')).toEqual({ kind: 'replayed', link: first.link });
  });

  test('strangers without an account do not get one another’s links by guessing a key', async () => {
    const context = contextFor();
    const first = await createLink(context, anonymous, { longUrl }, 'key');
    const other = await createLink(context, anonymous, { longUrl: 'https://example.com/other' }, 'key');
    expect(other.kind).toBe('created');
    expect((await createLink(context, anonymous, { longUrl }, 'key')).link).toEqual(first.link);
  });

  test('tags are kept once each', async () => {
    const { link } = await createLink(contextFor(), owner, { longUrl, tags: ['a', 'b', 'a'] });
    expect(link.tags).toEqual(['a', 'b']);
  });
});

describe('reading and changing', () => {
  test('a link is there for its owner and an admin, and for nobody else', async () => {
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

  test('a refused edit changes nothing', async () => {
    const context = contextFor();
    const { link } = await createLink(context, owner, { longUrl });
    await expect(
      updateLink(context, owner, link.code, { longUrl: 'ftp://x/', title: 'x' }),
    ).rejects.toBeInstanceOf(Problem);
    await expect(updateLink(context, owner, link.code, { expiresAt: 0 })).rejects.toBeInstanceOf(Problem);
    expect(await store.find(link.code)).toEqual(link);
    expect(changed).toEqual([]);
  });

  test('edits at the same time all arrive, one after the other', async () => {
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

  test('a deleted link leaves nothing of what it led to, and its alias is taken for ever', async () => {
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
