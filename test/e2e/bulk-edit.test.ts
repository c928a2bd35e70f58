/** Changing and deleting many links in one call: each by the rules of a single one, durable before the answer. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { follow } from '../kit/follow.ts';
import { addAccount, storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';

setDefaultTimeout(60_000);

const path = '/api/v1/links/bulk';
const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);
const strangerKey = addAccount(terse.dataFolder, 'stranger');

interface Result {
  readonly shortCode: string;
  readonly status: number;
  readonly link?: { readonly shortCode: string; readonly title: string | null; readonly status: string };
  readonly problem?: { readonly code: string };
}

const create = async (fields: Record<string, unknown> = {}, key?: string): Promise<string> => {
  const body = { longUrl: 'https://example.com/', ...fields };
  return (await call('POST', '/api/v1/links', key === undefined ? { body } : { key, body })).body.shortCode;
};
const createMany = async (
  count: number,
  fields: Record<string, unknown> = {},
  on = call,
): Promise<string[]> => {
  const links = Array.from({ length: count }, (_, n) => ({ longUrl: `https://example.com/${n}`, ...fields }));
  const { body } = await on('POST', path, { body: { links } });
  return body.results.map(({ link }: Required<Result>) => link.shortCode);
};
const short = ({ status, problem }: Result) => problem?.code ?? status;

describe('by codes', () => {
  test('each link is changed, or says why not, in the order of the codes', async () => {
    const [first, second, deleted] = await createMany(3);
    const foreign = await create({}, strangerKey);
    await call('DELETE', `/api/v1/links/${deleted}`);
    expect((await follow(terse.url, first!)).location).toBe('https://example.com/0');
    const codes = [second, 'of-nobody', deleted, foreign, first];
    const change = { longUrl: 'https://example.org/', tags: ['moved'] };
    // The stranger may change none but their own.
    const theirs = await call('PATCH', path, { key: strangerKey, body: { codes, change } });
    expect(theirs.body.results.map(short)).toEqual(['not_found', 'not_found', 'not_found', 200, 'not_found']);
    const { status, body } = await call('PATCH', path, {
      body: { codes: [second, 'of-nobody', deleted, first], change },
    });
    expect([status, body.nextCursor]).toEqual([200, null]);
    expect(body.results).toMatchObject([
      { shortCode: second, status: 200, link: { shortCode: second, ...change } },
      { shortCode: 'of-nobody', status: 404, problem: { code: 'not_found', status: 404 } },
      { shortCode: deleted, status: 410, problem: { code: 'link_deleted' } },
      { shortCode: first, status: 200, link: { shortCode: first, ...change } },
    ]);
    expect((await follow(terse.url, first!)).location).toBe('https://example.org/');
    const history = await call('GET', `/api/v1/links/${second}/history`);
    expect(history.body.entries[0]).toMatchObject({ action: 'link.updated', after: { tags: ['moved'] } });
  });

  test('links are deleted, and their codes are gone at once', async () => {
    const codes = await createMany(3);
    for (const code of codes) expect((await follow(terse.url, code)).status).toBe(302);
    const { body } = await call('DELETE', path, { body: { codes: [...codes, codes[0]] } });
    expect(body.results).toEqual([...codes, codes[0]].map(shortCode => ({ shortCode, status: 204 })));
    for (const code of codes) expect((await follow(terse.url, code)).status).toBe(410);
    const again = await call('DELETE', path, { body: { codes } });
    expect(again.body.results.map(short)).toEqual(codes.map(() => 'link_deleted'));
  });

  test('links that moderation holds stay held, and the others are changed', async () => {
    const [held, other] = await createMany(2);
    await call('POST', `/api/v1/moderation/links/${held}/decision`, {
      body: { decision: 'quarantine', reason: 'It looks bad.', version: 1 },
    });
    const { body } = await call('PATCH', path, {
      body: { codes: [held, other], change: { status: 'disabled' } },
    });
    expect(body.results.map(short)).toEqual(['link_held', 200]);
  });
});

describe('by a filter', () => {
  const key = addAccount(terse.dataFolder, 'filterer');
  const asFilterer: typeof call = (method, target, options) => call(method, target, { key, ...options });

  test('all own links that match are changed, call by call, newest first', async () => {
    const codes = await createMany(25, { tags: ['campaign'] }, asFilterer);
    const [other] = await createMany(1, {}, asFilterer);
    await create({ tags: ['campaign'] });
    const reached: string[] = [];
    let cursor: string | undefined;
    do {
      const filter = { tag: 'campaign', status: 'active' };
      const change = { status: 'disabled' };
      const { status, body } = await asFilterer('PATCH', path, {
        body: { filter, change, limit: 10, ...(cursor !== undefined && { cursor }) },
      });
      expect(status).toBe(200);
      for (const { shortCode, link } of body.results) {
        expect(link).toMatchObject({ shortCode, status: 'disabled', tags: ['campaign'] });
        reached.push(shortCode);
      }
      cursor = body.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(reached).toEqual(codes.toReversed());
    expect((await asFilterer('GET', `/api/v1/links/${other}`)).body.status).toBe('active');
  });

  test('links are deleted by their destination and their time of creation', async () => {
    await createMany(2, { longUrl: 'https://www.gone.example/' }, asFilterer);
    const [kept] = await createMany(1, { longUrl: 'https://kept.example/' }, asFilterer);
    const filter = { destinationDomain: 'gone.example', createdFrom: '2026-01-01T00:00:00Z' };
    const { body } = await asFilterer('DELETE', path, { body: { filter } });
    expect(body.results.map(short)).toEqual([204, 204]);
    expect(body.nextCursor).toBeNull();
    expect((await asFilterer('DELETE', path, { body: { filter } })).body).toEqual({
      results: [],
      nextCursor: null,
    });
    expect((await asFilterer('GET', `/api/v1/links/${kept}`)).status).toBe(200);
  });
});

describe('a call that is wrong as a whole', () => {
  const change = { title: 'x' };
  test.each([
    ['PATCH', 'neither codes nor a filter', { change }],
    ['PATCH', 'both', { codes: ['a'], filter: { tag: 'x' }, change }],
    ['PATCH', 'a filter that lets everything through', { filter: {}, change }],
    ['PATCH', 'a filter that is none', { filter: { colour: 'blue' }, change }],
    ['PATCH', 'a limit for codes', { codes: ['a'], limit: 5, change }],
    ['PATCH', 'no change', { codes: ['a'] }],
    ['PATCH', 'a change of nothing', { codes: ['a'], change: {} }],
    ['PATCH', 'a change of what cannot be changed', { codes: ['a'], change: { shortCode: 'b' } }],
    ['PATCH', 'no code', { codes: [], change }],
    ['PATCH', 'a code too many', { codes: Array(10_001).fill('a'), change }],
    ['PATCH', 'a limit too high', { filter: { tag: 'x' }, limit: 10_001, change }],
    ['PATCH', 'a foreign cursor', { filter: { tag: 'x' }, cursor: '!', change }],
    ['DELETE', 'neither codes nor a filter', {}],
    ['DELETE', 'a filter that lets everything through', { filter: {} }],
    ['DELETE', 'a change', { codes: ['a'], change }],
  ] as const)('%s with %s is refused', async (method, _, body) => {
    expectProblem(await call(method, path, { body }), 400, 'invalid_request');
  });

  test('a destination or an expiry that no link can have changes none', async () => {
    const codes = await createMany(2);
    const before = storedRows(terse.dataFolder).links;
    for (const [given, code] of [
      [{ longUrl: 'javascript:alert(1)' }, 'invalid_url'],
      [{ expiresAt: '2020-01-01T00:00:00Z' }, 'invalid_expiry'],
    ] as const)
      expectProblem(await call('PATCH', path, { body: { codes, change: given } }), 400, code);
    expect(storedRows(terse.dataFolder).links).toEqual(before);
  });

  test('a call without a body deletes nothing', async () => {
    const before = storedRows(terse.dataFolder).links;
    expect((await call('DELETE', path)).status).toBe(400);
    expect(storedRows(terse.dataFolder).links).toEqual(before);
  });
});

test('ten thousand changes and deletions survive a kill at the moment of the answer', async () => {
  const dataFolder = temporaryFolder();
  try {
    const first = await startTerseProcess({ dataFolder });
    const ask = callerOf(first.url);
    const codes = await createMany(10_000, {}, ask);
    const edited = await ask('PATCH', path, { body: { codes, change: { title: 'T' } } });
    const removed = await ask('DELETE', path, { body: { codes: codes.slice(0, 5_000) } });
    await first.kill();
    expect(new Set(edited.body.results.map(short))).toEqual(new Set([200]));
    expect(new Set(removed.body.results.map(short))).toEqual(new Set([204]));
    const rows = storedRows(dataFolder).links;
    const titles = new Map(rows.map(({ code, title, status }) => [code, [title, status]]));
    expect(codes.map(code => titles.get(code))).toEqual(
      codes.map((_, n) => (n < 5_000 ? [null, 2] : ['T', 0])),
    );
  } finally {
    rmSync(dataFolder, { recursive: true, force: true });
  }
});

test('redirects are served while ten thousand links are changed', async () => {
  const codes = await createMany(10_000);
  let isChanging = true;
  const changing = call('PATCH', path, { body: { codes, change: { tags: ['x', 'y'] } } }).finally(() => {
    isChanging = false;
  });
  let served = 0;
  while (isChanging) {
    expect((await follow(terse.url, codes[served % codes.length]!)).status).toBe(302);
    served += 1;
  }
  expect((await changing).body.results).toHaveLength(10_000);
  expect(served).toBeGreaterThan(10);
});
