/** Headers that every answer carries: nosniff, and HSTS over our own TLS. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { freeEnginePorts } from '../kit/engines/free-port.ts';
import { type RawAnswer, RawConnection, sendRaw } from '../kit/raw-http.ts';
import { report } from '../kit/report.ts';
import { selfSigned, writePair } from '../kit/self-signed.ts';
import { spawnTerse } from '../kit/spawned-terse.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { adminKey, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(60_000);

const longUrl = 'https://example.com/';

describe('every answer', () => {
  const pair = temporaryFolder();
  let plain: TerseHere;
  let encrypted: TerseHere;
  beforeAll(async () => {
    plain = await startTerseHere();
    encrypted = await startTerseHere({ env: writePair(pair, selfSigned()) });
  });
  afterAll(async () => {
    await plain.stop();
    await encrypted.stop();
    rmSync(pair, { recursive: true, force: true });
  });
  const overTls = ({ url }: TerseHere): string => url.replace('http:', 'https:');
  const key = `X-Api-Key: ${adminKey}\r\n`;

  /** The head of every kind of answer, by its description. */
  async function answersOf(url: string): Promise<Map<string, RawAnswer>> {
    const heads = new Map<string, RawAnswer>();
    const send = async (what: string, bytes: string): Promise<RawAnswer> => {
      const connection = await RawConnection.open(url);
      connection.write(bytes);
      const text = await connection.textUntilClosed();
      const answer = headOf(
        text.startsWith('HTTP/1.1 100') ? text.slice(text.indexOf('\r\n\r\n') + 4) : text,
      );
      heads.set(what, answer);
      return answer;
    };
    const line = (method: string, path: string, headers = '', body = ''): string =>
      `${method} ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${headers}` +
      `${body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`}\r\n${body}`;
    const post = (path: string, body: object) => line('POST', path, key, JSON.stringify(body));

    await send('201', post('/api/v1/links', { longUrl, customAlias: 'there' }));
    await send(
      'created with 301',
      post('/api/v1/links', { longUrl, customAlias: 'ever', redirectType: 301 }),
    );
    await send('gone link', post('/api/v1/links', { longUrl, customAlias: 'gone' }));
    await send('204', line('DELETE', '/api/v1/links/gone', key));
    await send('302', line('GET', '/there'));
    await send('301', line('GET', '/ever'));
    await send('302 to HEAD', line('HEAD', '/there'));
    await send('302 to HTTP/1.0', 'GET /there HTTP/1.0\r\n\r\n');
    await send('404', line('GET', '/missing'));
    await send('404 page', line('GET', '/missing', 'Accept: text/html\r\n'));
    await send('404 path', line('GET', '/no/such/path'));
    await send('410', line('GET', '/gone'));
    await send('410 page', line('GET', '/gone', 'Accept: text/html\r\n'));
    await send('preview', line('GET', '/there+', 'Accept: text/html\r\n'));
    const page = await send('page', line('GET', '/'));
    const [asset] = /\/assets\/[^"]+/.exec(page.body) ?? [];
    const { headers } = await send('asset', line('GET', asset!));
    await send('304', line('GET', asset!, `If-None-Match: ${headers.etag}\r\n`));
    for (const path of ['/docs', '/dashboard', '/robots.txt', '/report', '/health/live', '/health/ready'])
      await send(path, line('GET', path));
    await send('metrics', line('GET', '/metrics'));
    await send(
      'metrics of a machine',
      `GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    await send('OpenAPI', line('GET', '/api/v1/openapi.json'));
    await send('list', line('GET', '/api/v1/links', key));
    await send('QR code', line('GET', '/api/v1/links/there/qr', key));
    await send('stream', line('GET', '/api/v1/links/there/clicks?format=ndjson', key));
    await send('401', line('GET', '/api/v1/links'));
    await send('405', line('PUT', '/there'));
    await send('405 of the API', line('PUT', '/health/live'));
    await send(
      '415',
      `${line('POST', '/api/v1/links', `${key}Content-Type: text/plain\r\nContent-Length: 1\r\n`)}x`,
    );
    await send('400', 'GET / HTTP/1.1\r\n\r\n');
    await send('431', line('GET', '/', `X: ${'x'.repeat(70_000)}\r\n`));
    await send('505', 'GET / HTTP/3.0\r\n\r\n');
    return heads;
  }

  function headOf(text: string): RawAnswer {
    const end = text.indexOf('\r\n\r\n');
    const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
    const headers: Record<string, string> = {};
    for (const each of lines) {
      const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(each) ?? [];
      headers[name.toLowerCase()] = [headers[name.toLowerCase()] ?? [], value].flat().join(', ');
    }
    return { status: Number(statusLine.split(' ')[1]), headers, body: text.slice(end + 4) };
  }

  test('has nosniff once, and no HSTS over plain HTTP', async () => {
    const heads = await answersOf(plain.url);
    const sent = [...heads].map(([what, { status, headers }]) => [
      `${what} ${status}`,
      headers['x-content-type-options'],
      headers['strict-transport-security'],
    ]);
    expect(sent).toEqual(sent.map(([what]) => [what!, 'nosniff', undefined]));
    const statuses = new Set([...heads.values()].map(({ status }) => status));
    for (const status of [200, 201, 204, 301, 302, 304, 400, 401, 404, 405, 410, 415, 431, 505])
      expect(statuses).toContain(status);
    report(`${heads.size} kinds of answers, ${statuses.size} statuses: nosniff on every one, once`);
  });

  test('has HSTS for a year over our own TLS', async () => {
    const heads = await answersOf(overTls(encrypted));
    const sent = [...heads].map(([what, { headers }]) => [
      what,
      headers['x-content-type-options'],
      headers['strict-transport-security'],
    ]);
    expect(sent).toEqual(sent.map(([what]) => [what, 'nosniff', 'max-age=31536000']));
  });

  test('has both while the server waits for its store', async () => {
    const [port] = freeEnginePorts(1);
    const links = `postgres://terse@127.0.0.1:${port}/terse`;
    const waiting = spawnTerse({ ...writePair(pair, selfSigned()), TERSE_LINKS: links });
    const url = waiting.url.replace('http:', 'https:');
    const answerTo = (path: string): Promise<Response> =>
      fetch(url + path, { tls: { rejectUnauthorized: false } });
    try {
      await until(
        'the server to answer',
        async () => (await answerTo('/health/live').catch(() => undefined))?.ok === true,
      );
      for (const path of ['/health/ready', '/there']) {
        const { status, headers } = await answerTo(path);
        const sent = [headers.get('x-content-type-options'), headers.get('strict-transport-security')];
        expect([path, status, ...sent]).toEqual([path, 503, 'nosniff', 'max-age=31536000']);
      }
    } finally {
      await waiting.stop();
    }
  });

  test('makes browsers forget HSTS if the operator says so', async () => {
    const env = { ...writePair(pair, selfSigned()), TERSE_HSTS_MAX_AGE_S: '0' };
    const terse = await startTerseHere({ env });
    const [answer] = await sendRaw(
      overTls(terse),
      'GET /missing HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n',
    );
    expect(answer!.headers['strict-transport-security']).toBe('max-age=0');
    await terse.stop();
  });
});
