/** A request that is sent again with the same Idempotency-Key creates nothing new and gets the first answer. */
import { afterAll, expect, test } from 'bun:test';
import { ManualClock } from '../../src/base/clock.ts';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { addAccount, storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { adminKey } from '../kit/terse-process.ts';

const clock = new ManualClock();
const terse = await startTerseHere({ clock });
afterAll(() => terse.stop());
const call = callerOf(terse.url);

const longUrl = 'https://example.com/once';
const create = (idempotencyKey: string, body: unknown = { longUrl }, key: string | undefined = adminKey) =>
  call('POST', '/api/v1/links', { key, body, headers: { 'Idempotency-Key': idempotencyKey } });

test('a repeat gets exactly the first answer, also minutes later', async () => {
  const first = await create('repeat');
  expect(first.status).toBe(201);
  const before = storedRows(terse.dataFolder);
  clock.set(clock.now() + 600_000);
  const second = await create('repeat');
  expect(second).toMatchObject({ status: 201, body: first.body });
  expect(second.headers.get('location')).toBe(first.headers.get('location'));
  expect(storedRows(terse.dataFolder)).toEqual(before);
});

test('a repeat is recognised whatever order and spelling its fields have', async () => {
  const first = await create('order', { longUrl, title: 't', tags: ['a'] });
  const second = await create('order', { tags: ['a'], title: 't', long_url: longUrl });
  expect(second.body.short_code).toBe(first.body.shortCode);
});

test('concurrent repeats share one link', async () => {
  const answers = await Promise.all(Array.from({ length: 32 }, () => create('at-once')));
  expect(new Set(answers.map(answer => answer.status))).toEqual(new Set([201]));
  expect(new Set(answers.map(answer => answer.body.shortCode)).size).toBe(1);
});

test('an alias can be repeated, and another key finds the link that has it', async () => {
  const body = { longUrl, customAlias: 'claimed-once' };
  expect((await create('alias', body)).status).toBe(201);
  expect(await create('alias', body)).toMatchObject({ status: 201, body: { shortCode: 'claimed-once' } });
  expect(await create('another', body)).toMatchObject({ status: 200, body: { shortCode: 'claimed-once' } });
  expectProblem(await create('third', { ...body, longUrl: `${longUrl}/2` }), 409, 'alias_taken');
});

test('a different request under the same key is rejected and stores nothing', async () => {
  await create('different');
  const before = storedRows(terse.dataFolder);
  for (const body of [{ longUrl: `${longUrl}/2` }, { longUrl, title: 't' }, { longUrl, tags: ['t'] }]) {
    expectProblem(await create('different', body), 422, 'idempotency_key_reused');
  }
  expect(storedRows(terse.dataFolder)).toEqual(before);
});

test('a rejected request does not use up its key', async () => {
  expectProblem(await create('refused', { longUrl: 'ftp://example.com/' }), 400, 'invalid_url');
  expect((await create('refused')).status).toBe(201);
});

test('a repeat gets the first answer also when the link has been edited, deleted or replaced meanwhile', async () => {
  const first = await create('lives-on');
  const path = `/api/v1/links/${first.body.shortCode}`;
  await call('PATCH', path, { body: { longUrl: 'https://example.com/elsewhere' } });
  expect(await create('lives-on')).toMatchObject({ status: 201, body: first.body });
  await call('DELETE', path);
  expect(await create('lives-on')).toMatchObject({ status: 201, body: first.body });
});

test('two callers with the same idempotency key do not see each other’s links', async () => {
  const strangerKey = addAccount(terse.dataFolder, 'stranger');
  const codes = new Set<string>();
  for (const key of [adminKey, strangerKey])
    codes.add((await create('shared', { longUrl }, key)).body.shortCode);
  expect(codes.size).toBe(2);
  const secret = { longUrl: 'https://example.com/secret-of-nobody' };
  const first = await call('POST', '/api/v1/links', {
    key: undefined,
    body: secret,
    headers: { 'Idempotency-Key': 'shared' },
  });
  const other = await call('POST', '/api/v1/links', {
    key: undefined,
    body: { longUrl },
    headers: { 'Idempotency-Key': 'shared' },
  });
  expect([first.status, other.status]).toEqual([201, 201]);
  expect(other.body.shortCode).not.toBe(first.body.shortCode);
});

test('after 24 hours the key is forgotten', async () => {
  const first = await create('a-day');
  clock.set(clock.now() + 24 * 3_600_000 - 1);
  expect((await create('a-day')).body.shortCode).toBe(first.body.shortCode);
  clock.set(clock.now() + 2);
  const later = await create('a-day');
  expect(later.status).toBe(201);
  expect(later.body.shortCode).not.toBe(first.body.shortCode);
});

test.each([
  ['too long', 'k'.repeat(256)],
  ['with a space', 'a b'],
])('a key that is %s is rejected', async (_what, key) => {
  expectProblem(await create(key), 400, 'invalid_request');
});
