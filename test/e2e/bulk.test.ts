/** Many links in one call: each item succeeds or fails separately, and the answer means that all of them are durable. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { inParallel } from '../../src/base/in-parallel.ts';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { follow } from '../kit/follow.ts';
import { storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';

setDefaultTimeout(60_000);

const itemsMax = 10_000;
const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);

interface Result {
  readonly status: number;
  readonly link?: { readonly shortCode: string; readonly longUrl: string };
  readonly problem?: { readonly code: string; readonly status: number };
}

const codeOf = (result: Result) => result.link?.shortCode;
const destinationOf = (index: number): string => `https://example.com/bulk/${index}`;
const manyLinks = Array.from({ length: itemsMax }, (_, index) => ({ longUrl: destinationOf(index) }));
const create = (links: unknown, headers: Record<string, string> = {}) =>
  call('POST', '/api/v1/links/bulk', { body: { links }, headers });

describe('bad items among good ones', () => {
  const good = { longUrl: 'https://example.com/good' };
  const deep = [[[['https://example.com/']]]];
  const bad: readonly (readonly [item: unknown, status: number, code: string])[] = [
    [null, 400, 'invalid_request'],
    [42, 400, 'invalid_request'],
    ['https://example.com/', 400, 'invalid_request'],
    [true, 400, 'invalid_request'],
    [[], 400, 'invalid_request'],
    [[good], 400, 'invalid_request'],
    [deep, 400, 'invalid_request'],
    [{}, 400, 'invalid_request'],
    [{ longUrl: 42 }, 400, 'invalid_request'],
    [{ longUrl: null }, 400, 'invalid_request'],
    [{ ...good, colour: 'blue' }, 400, 'invalid_request'],
    [{ ...good, url: 'https://example.com/' }, 400, 'invalid_request'],
    [{ ...good, redirectType: 303 }, 400, 'invalid_request'],
    [{ longUrl: 'javascript:alert(1)' }, 400, 'invalid_url'],
    [{ ...good, expiresAt: '2020-01-01T00:00:00Z' }, 400, 'invalid_expiry'],
    [{ ...good, customAlias: 'not an alias' }, 400, 'invalid_alias'],
    [{ ...good, customAlias: 'api' }, 409, 'alias_reserved'],
    [{ longUrl: 'https://example.com/other', customAlias: 'taken-before' }, 409, 'alias_taken'],
    [{ longUrl: 'https://example.com/other', customAlias: 'within-one-call' }, 409, 'alias_taken'],
  ];

  test('fail separately, in their place, and store nothing', async () => {
    await call('POST', '/api/v1/links', { body: { ...good, customAlias: 'taken-before' } });
    const linksBefore = storedRows(terse.dataFolder).links.length;
    const links = [
      { ...good, customAlias: 'within-one-call' },
      ...bad.flatMap(([item], index) => [item, { longUrl: destinationOf(index) }]),
    ];
    const answer = await create(links);
    expect(answer.status).toBe(200);
    const [first, ...rest]: Result[] = answer.body.results;
    expect(first).toMatchObject({ status: 201, link: { shortCode: 'within-one-call' } });
    expect(rest).toHaveLength(2 * bad.length);
    for (const [index, [, status, code]] of bad.entries()) {
      expect(rest[2 * index]).toMatchObject({ status, problem: { status, code } });
      expect(rest[2 * index + 1]).toMatchObject({ status: 201, link: { longUrl: destinationOf(index) } });
    }
    expect(storedRows(terse.dataFolder).links).toHaveLength(linksBefore + 1 + bad.length);
  });
});

test('an error of an item names its field as that item spelled it, whatever the next items do', async () => {
  const links = [
    { longUrl: 'javascript:1' },
    { url: 'https://example.com/' },
    { url: 'javascript:1' },
    { longUrl: 'javascript:1' },
  ];
  const { body } = await create(links);
  const fields = body.results.map((result: { problem?: { field: string } }) => result.problem?.field);
  expect(fields).toEqual(['longUrl', undefined, 'url', 'longUrl']);
});

test('items take every field and spelling that a create takes', async () => {
  await call('POST', '/api/v1/links', {
    body: { longUrl: 'https://example.com/3', customAlias: 'bulk-found' },
  });
  const { body } = await create([
    { url: 'https://example.com/1', custom_code: 'bulk-spelled', expires_at: '2099-01-01T00:00:00Z' },
    { long_url: 'https://example.com/2', title: 't', tags: ['a'], redirectType: 301, maxClicks: 2 },
    { longUrl: 'https://example.com/3', findExisting: true },
  ]);
  expect(body.results).toMatchObject([
    { status: 201, link: { shortCode: 'bulk-spelled', expiresAt: '2099-01-01T00:00:00.000Z' } },
    { status: 201, link: { title: 't', tags: ['a'], redirectType: 301, maxClicks: 2 } },
    { status: 200, link: { shortCode: 'bulk-found' } },
  ]);
});

test('callers without a key create many links too, but no aliases', async () => {
  const links = [{ longUrl: 'https://e.com/' }, { longUrl: 'https://e.com/', customAlias: 'bulk-nobody' }];
  const { body } = await call('POST', '/api/v1/links/bulk', { key: undefined, body: { links } });
  expect(body.results).toMatchObject([{ status: 201 }, { status: 401, problem: { code: 'unauthorized' } }]);
});

test('callers without a key send at most 1 MiB', async () => {
  const body = JSON.stringify({ links: [{ longUrl: 'https://e.com/', title: 'a'.repeat(1024 * 1024) }] });
  expectProblem(await call('POST', '/api/v1/links/bulk', { key: undefined, body }), 413, 'body_too_large');
  expect(await call('POST', '/api/v1/links/bulk', { body })).toMatchObject({ status: 200 });
});

describe('a call that is wrong as a whole', () => {
  const tooMany = [...manyLinks, { longUrl: 'https://example.com/' }];

  test.each([
    ['one item too many', { links: tooMany }, 400, 'invalid_request'],
    ['no item', { links: [] }, 400, 'invalid_request'],
    ['no list', {}, 400, 'invalid_request'],
    ['something else than a list', { links: { 0: {} } }, 400, 'invalid_request'],
    ['a bare list', [{ longUrl: 'https://example.com/' }], 400, 'invalid_request'],
    ['a further field', { links: [{ longUrl: 'https://e.com/' }], dryRun: true }, 400, 'invalid_request'],
    ['a key given twice', '{"links":[{"longUrl":"https://e.com/","longUrl":"x"}]}', 400, 'invalid_json'],
    ['a body over 16 MiB', `{"links":["${'a'.repeat(16 * 1024 * 1024)}"]}`, 413, 'body_too_large'],
  ] as const)('%s is refused, and nothing is stored', async (_what, body, status, code) => {
    const before = storedRows(terse.dataFolder);
    expectProblem(await call('POST', '/api/v1/links/bulk', { body }), status, code);
    expect(storedRows(terse.dataFolder)).toEqual(before);
  });

  test('a body of almost 16 MiB is read', async () => {
    const title = 'a'.repeat(300);
    const links = Array.from({ length: itemsMax }, (_, index) => ({
      longUrl: `${destinationOf(index)}/${'b'.repeat(1_200)}`,
      title,
      redirectType: 303,
    }));
    const { status, body } = await create(links);
    expect(status).toBe(200);
    expect(body.results).toHaveLength(itemsMax);
    expect(body.results.every((result: Result) => result.status === 400)).toBe(true);
  });
});

test('ten thousand links survive a kill at the moment of the answer, and a repeat creates none', async () => {
  const dataFolder = temporaryFolder();
  const headers = { 'Idempotency-Key': 'ten-thousand' };
  try {
    const first = await startTerseProcess({ dataFolder });
    const answer = await callerOf(first.url)('POST', '/api/v1/links/bulk', {
      body: { links: manyLinks },
      headers,
    });
    await first.kill();
    expect(answer.status).toBe(200);
    const results: Required<Result>[] = answer.body.results;
    expect(results.map(({ status, link }) => [status, link?.longUrl])).toEqual(
      manyLinks.map(({ longUrl }) => [201, longUrl]),
    );
    expect(new Set(results.map(codeOf)).size).toBe(itemsMax);

    const second = await startTerseProcess({ dataFolder });
    try {
      const lost: string[] = [];
      await inParallel(itemsMax, 32, async index => {
        const { location } = await follow(second.url, results[index]!.link.shortCode);
        if (location !== destinationOf(index)) lost.push(results[index]!.link.shortCode);
      });
      expect(lost).toEqual([]);

      const repeated = await callerOf(second.url)('POST', '/api/v1/links/bulk', {
        body: { links: manyLinks },
        headers,
      });
      expect(repeated.body.results.map(codeOf)).toEqual(results.map(codeOf));
      expect(storedRows(dataFolder).links).toHaveLength(itemsMax);
    } finally {
      await second.stop();
    }
  } finally {
    rmSync(dataFolder, { recursive: true, force: true });
  }
});

test('a repeat that differs in one item is rejected for that item alone', async () => {
  const headers = { 'Idempotency-Key': 'differs' };
  const links = [0, 1, 2].map(index => ({ longUrl: destinationOf(index) }));
  const first = await create(links, headers);
  const second = await create(links.with(1, { longUrl: 'https://example.com/other' }), headers);
  const [zero, , two] = first.body.results;
  expect(second.body.results).toMatchObject([
    zero,
    { status: 422, problem: { code: 'idempotency_key_reused' } },
    two,
  ]);
});

test('redirects are served while ten thousand links are created', async () => {
  const [{ link }] = (await create([{ longUrl: 'https://example.com/meanwhile' }])).body.results;
  let creating = true;
  const bulk = create(manyLinks).finally(() => {
    creating = false;
  });
  let served = 0;
  while (creating) {
    expect(await follow(terse.url, link.shortCode)).toMatchObject({ status: 302 });
    served += 1;
  }
  expect((await bulk).body.results).toHaveLength(itemsMax);
  expect(served).toBeGreaterThan(10);
});
