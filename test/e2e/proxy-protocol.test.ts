/** Clients that a proxy names by the PROXY protocol: each has its own address, and so its own limits. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { startHaproxy } from '../kit/engines/haproxy.ts';
import { sendRaw } from '../kit/raw-http.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { adminKey } from '../kit/terse-process.ts';

const request = (method: string, path: string, body = '', headers = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: ${body.length}\r\n${headers}\r\n${body}`;
const authorization = `Authorization: Bearer ${adminKey}\r\nContent-Type: application/json\r\n`;
const creation = request(
  'POST',
  '/api/v1/links',
  JSON.stringify({ longUrl: 'https://example.com/', customAlias: 'limited' }),
  authorization,
);
const visit = request('GET', '/limited');
const proxyLine = (address: string): string => `PROXY TCP4 ${address} 127.0.0.1 40000 8080\r\n`;

let terse: TerseHere;
beforeAll(async () => {
  terse = await startTerseHere({
    env: {
      TERSE_PROXY_PROTOCOL: 'on',
      TERSE_TRUSTED_PROXIES: '127.0.0.0/8',
      TERSE_LIMITS: 'default',
      TERSE_REDIRECT_LIMIT: '2/h',
    },
  });
  expect(await sendRaw(terse.url, proxyLine('192.0.2.1') + creation)).toMatchObject([{ status: 201 }]);
});
afterAll(() => terse.stop());

const statusOf = async (url: string, bytes: string): Promise<number | undefined> =>
  (await sendRaw(url, bytes))[0]?.status;

describe('behind a proxy that names its clients', () => {
  test('each of them is limited separately, whatever its headers claim', async () => {
    const visits = async (address: string, headers = ''): Promise<(number | undefined)[]> => {
      const statuses: (number | undefined)[] = [];
      for (let count = 0; count < 3; count += 1) {
        const bytes = proxyLine(address) + request('GET', '/limited', '', headers);
        statuses.push(await statusOf(terse.url, bytes));
      }
      return statuses;
    };
    expect(await visits('198.51.100.1')).toEqual([302, 302, 429]);
    expect(await visits('198.51.100.2', 'X-Forwarded-For: 203.0.113.5\r\n')).toEqual([302, 302, 429]);
    expect(await visits('203.0.113.5')).toEqual([302, 302, 429]);
  });

  test('a client without a PROXY header is not served', async () => {
    expect(await sendRaw(terse.url, visit)).toEqual([]);
  });

  test('the PROXY header of curl is understood', async () => {
    if (Bun.which('curl') === null) return;
    const curl = ['curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', '--haproxy-protocol'];
    const { stdout } = Bun.spawn([...curl, `${terse.url}/limited`]);
    expect(await new Response(stdout).text()).toBe('302');
  });
});

describeWithEngine(
  'haproxy',
  'behind HAProxy',
  () => {
    test.each([1, 2] as const)('version %d of its PROXY header is understood', async version => {
      const proxy = await startHaproxy({ target: new URL(terse.url).host, version });
      try {
        expect(await statusOf(proxy.url, request('GET', '/health/live'))).toBe(200);
        expect(await sendRaw(proxy.url, request('GET', '/limited+'))).toMatchObject([{ status: 200 }]);
      } finally {
        await proxy.stop();
      }
    });
  },
  { own: true },
);
