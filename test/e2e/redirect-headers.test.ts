/** The headers of a redirect, byte for byte: caches, robots and referrers depend on them. */
import { afterAll, describe, expect, test } from 'bun:test';
import { ManualClock } from '../../src/base/clock.ts';
import { callerOf } from '../kit/client.ts';
import { RawConnection, sendRaw } from '../kit/raw-http.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';

const clock = new ManualClock();
const plain = await startTerseHere({ clock });
const edge = await startTerseHere({ clock, env: { TERSE_EDGE_TTL_S: '300', TERSE_ROBOTS: 'none' } });
afterAll(async () => {
  await plain.stop();
  await edge.stop();
});

async function create(terse: TerseHere, fields: Record<string, unknown> = {}): Promise<string> {
  const body = { longUrl: 'https://example.com/', ...fields };
  return (await callerOf(terse.url)('POST', '/api/v1/links', { body })).body.shortCode;
}

const request = (method: string, path: string, headers = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`;

/** All headers but those of the connection itself. */
async function headersOf(terse: TerseHere, code: string): Promise<Record<string, string>> {
  const [answer] = await sendRaw(terse.url, request('GET', `/${code}`));
  const { date: _date, connection: _connection, ...headers } = answer!.headers;
  return headers;
}

const inS = (seconds: number) => new Date(clock.now() + seconds * 1_000).toISOString();

test('a redirect carries these headers and no others', async () => {
  expect(await headersOf(plain, await create(plain))).toEqual({
    location: 'https://example.com/',
    'cache-control': 'private, max-age=0',
    'referrer-policy': 'strict-origin-when-cross-origin',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex',
    'content-length': '0',
  });
});

test('behind a CDN it may be cached there under a key, and the robots header can be switched off', async () => {
  const code = await create(edge);
  expect(await headersOf(edge, code)).toEqual({
    location: 'https://example.com/',
    'cache-control': 'public, max-age=0, s-maxage=300',
    'surrogate-key': code,
    'referrer-policy': 'strict-origin-when-cross-origin',
    'x-content-type-options': 'nosniff',
    'content-length': '0',
  });
});

describe('how long a redirect may be cached', () => {
  test.each([
    ['a temporary one', {}, 'private, max-age=0', 'public, max-age=0, s-maxage=300'],
    ['307', { redirectType: 307 }, 'private, max-age=0', 'public, max-age=0, s-maxage=300'],
    ['301', { redirectType: 301 }, 'private, max-age=90', 'public, max-age=90, s-maxage=300'],
    ['308', { redirectType: 308 }, 'private, max-age=90', 'public, max-age=90, s-maxage=300'],
    ['one with a limit', { redirectType: 301, maxClicks: 5 }, 'private, no-store', 'private, no-store'],
  ])('%s', async (_what, fields, plainly, atTheEdge) => {
    expect(await headersOf(plain, await create(plain, fields))).toMatchObject({ 'cache-control': plainly });
    expect(await headersOf(edge, await create(edge, fields))).toMatchObject({ 'cache-control': atTheEdge });
  });

  test.each([
    [200, 'private, max-age=90', 'public, max-age=90, s-maxage=200'],
    [45, 'private, max-age=45', 'public, max-age=45, s-maxage=45'],
    [0.5, 'private, max-age=0', 'public, max-age=0, s-maxage=0'],
  ])('never beyond its expiry in %d seconds', async (seconds, plainly, atTheEdge) => {
    const fields = { redirectType: 301, expiresAt: inS(seconds) };
    expect(await headersOf(plain, await create(plain, fields))).toMatchObject({ 'cache-control': plainly });
    expect(await headersOf(edge, await create(edge, fields))).toMatchObject({ 'cache-control': atTheEdge });
  });

  test('an answer without a redirect is never cached, not even at the edge', async () => {
    for (const terse of [plain, edge]) {
      expect(await headersOf(terse, 'no-such-link')).toMatchObject({ 'cache-control': 'no-store' });
    }
  });
});

test('no visitor gets a cookie', async () => {
  for (const path of [`/${await create(plain)}`, '/no-such-link', '/', '/docs']) {
    const [answer] = await sendRaw(plain.url, request('GET', path, 'Cookie: a=b\r\nAccept: text/html\r\n'));
    expect(answer!.headers['set-cookie']).toBeUndefined();
  }
});

test('HEAD answers with the headers of GET and not one byte of a body', async () => {
  const gone = await create(plain, { expiresAt: inS(1) });
  const live = await create(plain, { redirectType: 301, expiresAt: inS(1_000) });
  clock.advance(1_000);
  for (const path of [`/${live}`, `/${gone}`, '/no-such-link', `/${live}+`, '/', '/robots.txt']) {
    for (const accept of ['Accept: text/html\r\n', '']) {
      const [got] = await sendRaw(plain.url, request('GET', path, accept));
      const connection = await RawConnection.open(plain.url);
      connection.write(request('HEAD', path, accept));
      const [head = '', ...rest] = (await connection.textUntilClosed()).split('\r\n\r\n');
      expect(rest).toEqual(['']);
      const [statusLine = '', ...lines] = head.split('\r\n');
      expect(statusLine).toContain(` ${got!.status} `);
      const named = lines.map(line => [
        line.split(': ')[0]!.toLowerCase(),
        line.slice(line.indexOf(': ') + 2),
      ]);
      const { date: _date, ...expected } = got!.headers;
      const { date: _headDate, ...headers } = Object.fromEntries(named);
      expect(headers).toEqual(expected);
    }
  }
});
