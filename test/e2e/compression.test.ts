/** Which answers of the API and which pages are compressed; answers that contain a secret never are. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Call, callerOf } from '../kit/client.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';

let terse: TerseHere;
let call: Call;
beforeAll(async () => {
  terse = await startTerseHere();
  call = callerOf(terse.url);
});
afterAll(() => terse.stop());

/** Answers of any length are compressed for a client that sends this. */
const noPlain = { 'Accept-Encoding': 'gzip, identity;q=0' };
const codingOf = async (method: string, path: string, body?: unknown, headers = noPlain) => {
  const answer = await call(method, path, { headers, ...(body !== undefined && { body }) });
  expect(answer.status).toBeLessThan(300);
  return answer.headers.get('content-encoding');
};

describe('an answer with a secret in it', () => {
  test('is a new API key, and is not compressed', async () => {
    const options = { headers: noPlain, body: { name: 'reflected '.repeat(10) } };
    const { headers, body } = await call('POST', '/api/v1/keys', options);
    expect([headers.get('content-encoding'), typeof body.key]).toEqual([null, 'string']);
    expect(await codingOf('POST', `/api/v1/keys/${body.id}/rotate`, {})).toBeNull();
    // The same without the secret is compressed.
    expect(await codingOf('GET', '/api/v1/keys')).toBe('gzip');
  });

  test('is an invitation, and is not compressed', async () => {
    const body = { name: 'Invited', email: 'invited@example.com' };
    const { body: account } = await call('POST', '/api/v1/accounts', { body });
    expect(await codingOf('POST', `/api/v1/accounts/${account.id}/invitation`)).toBeNull();
    expect(await codingOf('GET', `/api/v1/accounts/${account.id}`)).toBe('gzip');
  });
});

test('lists, documents, pages and exports are compressed; images are not', async () => {
  const links = Array.from({ length: 50 }, (_, item) => ({ longUrl: `https://example.com/${item}` }));
  const { body } = await call('POST', '/api/v1/links/bulk', { body: { links } });
  const code = body.results[0].link.shortCode;
  const usual = { 'Accept-Encoding': 'gzip, deflate, br, zstd' };
  for (const path of ['/', '/docs', '/report', '/api/v1/openapi.json', '/api/v1/links'])
    expect([path, await codingOf('GET', path, undefined, usual)]).toEqual([path, 'zstd']);
  for (const path of [`/api/v1/links/${code}/clicks?format=csv`, `/api/v1/links/${code}/clicks`])
    expect([path, await codingOf('GET', path)]).toEqual([path, 'gzip']);
  expect(await codingOf('GET', `/api/v1/links/${code}/qr?format=png`)).toBeNull();
  const page = await call('GET', '/missing', { headers: { ...usual, Accept: 'text/html' } });
  expect([page.status, page.headers.get('content-encoding')]).toEqual([404, 'zstd']);
  expect(page.body).toContain('</html>');
});

test('a file that a browser has in one coding is not sent again', async () => {
  const path = /\/assets\/terse\.css\?v=\w+/.exec((await call('GET', '/')).body)![0];
  const first = await call('GET', path, { headers: { 'Accept-Encoding': 'br' } });
  const etag = first.headers.get('etag')!;
  expect(etag).toEndWith('-br"');
  const again = await call('GET', path, { headers: { 'Accept-Encoding': 'br', 'If-None-Match': etag } });
  expect([again.status, again.headers.get('etag')]).toEqual([304, etag]);
});
