/** A server, run as an operator would, checks whether destinations answer, and shows owners the result. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { callerOf } from '../kit/client.ts';
import { forceLongUrl } from '../kit/stored-rows.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(60_000);

/** A server at an address of this machine that no other test has, at one of the ports that are checked. */
function originAt(network: number) {
  const seen: string[] = [];
  for (let attempt = 0; ; attempt += 1) {
    const [high, low] = crypto.getRandomValues(new Uint8Array(2));
    const hostname = `127.${network}.${high}.${(low! % 250) + 1}`;
    try {
      const server = Bun.serve({
        hostname,
        port: 8080,
        fetch(request) {
          const { pathname } = new URL(request.url);
          seen.push(`${request.method} ${pathname} ${request.headers.get('user-agent')}`);
          if (pathname === '/gone') return new Response(null, { status: 410 });
          if (pathname === '/moved') return Response.redirect('http://127.0.0.1:1/', 302);
          if (pathname === '/get-only' && request.method === 'HEAD')
            return new Response(null, { status: 404 });
          return new Response('here');
        },
      });
      return { url: `http://${hostname}:8080`, seen, stop: () => server.stop(true) };
    } catch (error) {
      if (attempt === 20) throw error;
    }
  }
}

const [asked, secret] = [originAt(77), originAt(78)];
const dataFolder = temporaryFolder();
const started: TerseProcess[] = [];
afterAll(async () => {
  for (const terse of started) await terse.kill();
  await Promise.all([asked.stop(), secret.stop()]);
  rmSync(dataFolder, { recursive: true, force: true });
});

const destinations = {
  fine: `${asked.url}/fine`,
  gone: `${asked.url}/gone`,
  moved: `${asked.url}/moved`,
  'get-only': `${asked.url}/get-only`,
  inside: `${secret.url}/admin`,
};

/** Links exist before any check; then the server is started with these settings. */
async function startWith(env: Readonly<Record<string, string>>) {
  const terse = await startTerseProcess({ dataFolder, env });
  started.push(terse);
  const call = callerOf(terse.url);
  return {
    terse,
    call,
    healthOf: async (code: string) => (await call('GET', `/api/v1/links/${code}`)).body.health,
  };
}

describe('link health', () => {
  test('is absent, and no destination is requested, unless it is switched on', async () => {
    const { terse, call, healthOf } = await startWith({});
    for (const customAlias of Object.keys(destinations)) {
      const longUrl = `https://example.com/${customAlias}`;
      expect(await call('POST', '/api/v1/links', { body: { customAlias, longUrl } })).toMatchObject({
        status: 201,
      });
    }
    expect(await healthOf('fine')).toBeUndefined();
    await terse.stop();
    // Writes private addresses into the store, because the server rejects them and a test has no public ones.
    for (const [code, longUrl] of Object.entries(destinations)) forceLongUrl(dataFolder, code, longUrl);
    expect([...asked.seen, ...secret.seen]).toEqual([]);
  });

  test('is shown to the owner, for a link and for a list; private networks are left alone', async () => {
    const { terse, call, healthOf } = await startWith({
      TERSE_LINK_HEALTH: 'on',
      TERSE_LINK_HEALTH_RATE: '1000',
      TERSE_LINK_HEALTH_NETWORKS: '127.77.0.0/16',
    });
    await until('a health result', async () => (await healthOf('inside')) !== null);

    const ok = { status: 'ok', failingSince: null, reason: null };
    expect(await healthOf('fine')).toMatchObject({ ...ok, httpStatus: 200 });
    expect(await healthOf('moved')).toMatchObject({ ...ok, httpStatus: 302 });
    expect(await healthOf('get-only')).toMatchObject({ ...ok, httpStatus: 200 });
    const gone = await healthOf('gone');
    expect(gone).toMatchObject({ status: 'failing', httpStatus: 410, reason: null });
    expect(gone.failingSince).toBe(gone.checkedAt);
    expect(await healthOf('inside')).toMatchObject({
      status: 'failing',
      httpStatus: null,
      reason: 'not_public',
    });
    expect(secret.seen).toEqual([]);
    expect(asked.seen.map(line => line.split(' ').slice(0, 2).join(' ')).toSorted()).toEqual([
      'GET /get-only',
      'GET /gone',
      'HEAD /fine',
      'HEAD /get-only',
      'HEAD /gone',
      'HEAD /moved',
    ]);
    expect(asked.seen.every(line => /Terse\/\S+ \(link check; \+http/.test(line))).toBe(true);

    const { links } = (await call('GET', '/api/v1/links')).body;
    expect(links.map((link: { health: { status: string } }) => link.health.status).toSorted()).toEqual([
      ...['failing', 'failing', 'ok', 'ok', 'ok'],
    ]);
    // The health of the old destination does not apply to the new one.
    await call('PATCH', '/api/v1/links/gone', { body: { longUrl: 'https://example.com/elsewhere' } });
    expect(await healthOf('gone')).toBeNull();
    expect(await (await fetch(`${terse.url}/metrics`)).text()).toMatch(
      /^terse_link_health_checks_total\{result="failing"\} 2$/m,
    );
    await terse.stop();
  });
});
