/** Every way to create or change a link checks its destination, and a redirect checks it once more. */
import { afterAll, describe, expect, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { forceLongUrl, storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';

const terse = await startTerseHere({
  env: { TERSE_BASE_URL: 'https://sho.rt', TERSE_DOMAINS: 'old.example' },
});
afterAll(() => terse.stop());
const call = callerOf(terse.url);

const refused = [
  ['javascript:alert(1)', 'scheme_not_allowed'],
  ['JaVaScRiPt:alert(1)', 'scheme_not_allowed'],
  ['java\tscript:alert(1)', 'scheme_not_allowed'],
  [' \u0001javascript:alert(1)', 'scheme_not_allowed'],
  ['data:text/html,<script>alert(1)</script>', 'scheme_not_allowed'],
  ['blob:https://example.com/1', 'scheme_not_allowed'],
  ['ftp://example.com/', 'scheme_not_allowed'],
  ['file:///etc/passwd', 'scheme_not_allowed'],
  ['example.com', 'missing_scheme'],
  ['//example.com/', 'missing_scheme'],
  ['/relative', 'missing_scheme'],
  ['', 'empty'],
  ['https:example.com', 'misleading_slashes'],
  ['https:\\\\example.com', 'misleading_slashes'],
  ['https://user@example.com/', 'credentials'],
  ['https://user:password@example.com/', 'credentials'],
  ['https://example.com/a\tb', 'control_character'],
  ['https://example.com/\r\nSet-Cookie: a=b', 'control_character'],
  ['https://example.com:0/', 'invalid_port'],
  ['https://a..example.com/', 'empty_label'],
  ['http://0x7f.1/', 'disguised_address'],
  ['http://2130706433/', 'disguised_address'],
  ['https://sho.rt/abc', 'own_host'],
  ['http://SHO.RT:8080/', 'own_host'],
  ['https://sho.rt./', 'own_host'],
  ['https://old.example/', 'own_host'],
  [`https://example.com/${'a'.repeat(2029)}`, 'too_long'],
  [`https://example.com/${'短'.repeat(2000)}`, 'too_long'],
] as const;

describe.each(refused)('%j', (longUrl, reason) => {
  test(`is rejected by every endpoint as ${reason}, and nothing is stored`, async () => {
    const { shortCode } = (await call('POST', '/api/v1/links', { body: { longUrl: 'https://e.com/' } })).body;
    const before = storedRows(terse.dataFolder);
    const link = `/api/v1/links/${shortCode}`;
    for (const [method, path] of [
      ['POST', '/api/v1/links'],
      ['PATCH', link],
      ['PUT', link],
    ] as const) {
      const answer = await call(method, path, { body: { longUrl } });
      expectProblem(answer, 400, 'invalid_url');
      expect(answer.body).toMatchObject({ field: 'longUrl', reason });
    }
    const bulk = await call('POST', '/api/v1/links/bulk', { body: { links: [{ longUrl }] } });
    expect(bulk.body.results).toMatchObject([{ status: 400, problem: { code: 'invalid_url', reason } }]);
    expect(storedRows(terse.dataFolder)).toEqual(before);
  });
});

test('a URL of exactly 2,048 bytes is kept as it is', async () => {
  const longUrl = `https://example.com/${'a'.repeat(2028)}`;
  expect(longUrl).toHaveLength(2048);
  const { shortCode } = (await call('POST', '/api/v1/links', { body: { longUrl } })).body;
  expect((await call('GET', `/${shortCode}`)).headers.get('location')).toBe(longUrl);
});

test.each([
  'javascript:alert(1)',
  'https://sho.rt/loop',
  'https://user@example.com/',
  '//example.com/',
  'https://example.com/\r\nSet-Cookie: a=b',
  '',
])('a stored destination %j is not followed either', async longUrl => {
  const { shortCode } = (await call('POST', '/api/v1/links', { body: { longUrl: 'https://e.com/' } })).body;
  forceLongUrl(terse.dataFolder, shortCode, longUrl);
  for (const path of [`/${shortCode}`, `/${shortCode}+`]) {
    const answer = await call('GET', path);
    expectProblem(answer, 410, 'link_unsafe');
    expect(answer.headers.get('location')).toBeNull();
  }
});
