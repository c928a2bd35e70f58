/** The other names of paths and fields are the same call, wherever they appear. */
import { afterAll, describe, expect, test } from 'bun:test';
import { fieldSpellings, pathSpellings } from '../../src/http/spellings.ts';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);

const paths = Object.entries(pathSpellings).flatMap(([canonical, others]) => [canonical, ...others]);
const fields = Object.entries(fieldSpellings);

test('the names promised to clients of other shorteners are all there', () => {
  expect(paths).toEqual(
    expect.arrayContaining(['/api/v1/links', '/api/v1/urls', '/api/v1/shorten', '/v1/links', '/shorten']),
  );
  expect(fieldSpellings).toMatchObject({
    long_url: 'longUrl',
    url: 'longUrl',
    custom_alias: 'customAlias',
    custom_code: 'customAlias',
    expires_at: 'expiresAt',
  });
});

describe.each(paths)('%s', path => {
  let aliases = 0;
  const examples: Record<string, () => string> = {
    longUrl: () => 'https://example.com/spelled',
    customAlias: () => `spelled-${paths.indexOf(path)}-${++aliases}`,
    expiresAt: () => '2099-01-01T00:00:00.000Z',
  };
  const shown: Record<string, string> = { customAlias: 'shortCode' };

  test.each(fields)('takes %s for %s', async (spelling, field) => {
    const value = examples[field]!();
    const body = { longUrl: 'https://example.com/', [spelling]: value };
    if (field === 'longUrl') Reflect.deleteProperty(body, 'longUrl');
    const answer = await call('POST', path, { body });
    expect(answer.status).toBe(201);
    expect(answer.body[shown[field] ?? field]).toBe(value);
    expect(new URL(answer.headers.get('location')!).pathname).toBe(`/api/v1/links/${answer.body.shortCode}`);
  });

  test('reads, lists, edits, replaces, deletes, draws and makes many', async () => {
    const { shortCode } = (await call('POST', path, { body: { url: 'https://example.com/' } })).body;
    const one = `${path}/${shortCode}`;
    expect(await call('GET', one)).toMatchObject({ status: 200, body: { shortCode } });
    expect((await call('GET', path)).body.links).toContainEqual(expect.objectContaining({ shortCode }));
    const edited = await call('PATCH', one, {
      body: { long_url: 'https://example.com/2', expires_at: '2099-01-01T00:00:00Z' },
    });
    expect(edited.body).toMatchObject({
      longUrl: 'https://example.com/2',
      expiresAt: '2099-01-01T00:00:00.000Z',
    });
    const replaced = await call('PUT', one, { body: { url: 'https://example.com/3' } });
    expect(replaced.body).toMatchObject({ longUrl: 'https://example.com/3', expiresAt: null });
    expect(await call('GET', `${one}/qr`)).toMatchObject({ status: 200 });
    const bulk = await call('POST', `${path}/bulk`, { body: { links: [{ url: 'https://example.com/' }] } });
    expect(bulk.body.results).toMatchObject([{ status: 201 }]);
    expect(await call('DELETE', one)).toMatchObject({ status: 204 });
  });
});

test.each(fields)(
  '%s beside %s is refused, even with the same value, and nothing is stored',
  async (spelling, field) => {
    const before = storedRows(terse.dataFolder);
    const value = field === 'longUrl' ? 'https://example.com/' : 'twice-named';
    const body = { longUrl: 'https://example.com/', [field]: value, [spelling]: value };
    const answer = await call('POST', '/api/v1/links', { body });
    expectProblem(answer, 400, 'invalid_request');
    expect(answer.body.field).toBe(field);
    expect(storedRows(terse.dataFolder)).toEqual(before);
  },
);

test('two other spellings of one field contradict each other as well', async () => {
  const body = { url: 'https://example.com/', long_url: 'https://example.com/' };
  expectProblem(await call('POST', '/shorten', { body }), 400, 'invalid_request');
});
