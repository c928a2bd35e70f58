/**
 * What other users of the machine can read on disk, what strangers can read at /metrics, and whether the first admin key
 * ends up in collected logs.
 */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { callerOf } from '../kit/client.ts';
import { runTerse } from '../kit/command-line.ts';
import { freeEnginePorts } from '../kit/engines/free-port.ts';
import { type RawAnswer, sendRaw } from '../kit/raw-http.ts';
import { report } from '../kit/report.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import {
  adminKey,
  firstKeyIn,
  startTerseProcess,
  type TerseProcess,
  type TerseProcessOptions,
  temporaryFolder,
} from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { browser } from '../kit/visitors.ts';

setDefaultTimeout(120_000);

const longUrl = 'https://example.com/';
const folders: string[] = [];
const folder = (): string => {
  const path = temporaryFolder();
  folders.push(path);
  return path;
};
afterAll(() => folders.forEach(path => void rmSync(path, { recursive: true, force: true })));

const started: TerseProcess[] = [];
const start = async (options: TerseProcessOptions): Promise<TerseProcess> => {
  const terse = await startTerseProcess(options);
  started.push(terse);
  return terse;
};
// A failed test does not stop its servers.
afterEach(() => Promise.all(started.splice(0).map(terse => terse.kill())));

describe('other users of the machine', () => {
  let umask: number;
  beforeAll(() => {
    // Processes started from here on inherit the most permissive umask.
    umask = process.umask(0);
  });
  afterAll(() => void process.umask(umask));

  /** All that is below a folder, and the folder itself, with its mode in octal. */
  function modesIn(path: string): Map<string, string> {
    const names = ['', ...(readdirSync(path, { recursive: true }) as string[])];
    return new Map(names.map(name => [name, (lstatSync(join(path, name)).mode & 0o777).toString(8)]));
  }

  function expectPrivate(path: string): string[] {
    const modes = modesIn(path);
    expect([...modes].filter(([, mode]) => mode !== '600' && mode !== '700')).toEqual([]);
    for (const [name, mode] of modes)
      expect([name, mode]).toEqual([name, lstatSync(join(path, name)).isDirectory() ? '700' : '600']);
    return [...modes.keys()];
  }

  function openToAll(path: string): void {
    for (const name of modesIn(path).keys()) {
      const each = join(path, name);
      chmodSync(each, lstatSync(each).isDirectory() ? 0o777 : 0o666);
    }
  }

  /** Makes Terse write every kind of file that it has. */
  async function use({ url }: TerseProcess, key: string): Promise<void> {
    const call = callerOf(url);
    const { body } = await call('POST', '/api/v1/links', { key, body: { longUrl } });
    expect((await call('POST', '/api/v1/links', { key: undefined, body: { longUrl } })).status).toBe(201);
    const visit = await fetch(`${url}/${body.shortCode}`, { headers: browser, redirect: 'manual' });
    expect(visit.status).toBe(302);
    await until('the click to be counted', async () => {
      const stats = await call('GET', `/api/v1/links/${body.shortCode}/stats`, { key });
      return stats.body.totalClicks === 1;
    });
  }

  const settings = {
    TERSE_ADMIN_KEY: undefined,
    TERSE_LIMITS: 'default',
    TERSE_LINK_HEALTH: 'on',
    TERSE_WORKERS: '2',
  };

  test('cannot read any file or enter any folder, whatever the umask and the mode of the folder', async () => {
    const dataFolder = folder();
    chmodSync(dataFolder, 0o777);
    const terse = await start({ dataFolder, env: settings });
    await use(terse, firstKeyIn(dataFolder)!);
    const backups = join(folder(), 'backups');
    const env = { TERSE_DATA: dataFolder };
    const { exitCode, stderr } = await runTerse(['backup', join(backups, 'monday')], { env });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });

    const files = expectPrivate(dataFolder);
    for (const name of ['terse.db', 'terse.db-wal', 'stats.db', 'limits.db', 'admin-key'])
      expect(files).toContain(name);
    expect(files.some(name => /^clicks\/.+\.log$/.test(name))).toBe(true);
    const saved = expectPrivate(backups);
    for (const name of ['monday/terse.db', 'monday/stats.db', 'monday/backup.json'])
      expect(saved).toContain(name);
    expect(await terse.stop()).toBe(0);
    expectPrivate(dataFolder);
    report(
      `umask 000 in a folder of mode 0777: ${files.length + saved.length} files and folders, all closed`,
    );
  });

  test('cannot read clicks that are spilled while Kafka is down', async () => {
    const dataFolder = folder();
    const clickSpill = join(folder(), 'spill');
    const [port] = freeEnginePorts(1);
    const env = { TERSE_STREAM: `kafka://127.0.0.1:${port}/clicks`, TERSE_CLICK_SPILL: clickSpill };
    const terse = await start({ dataFolder, env: { ...env, TERSE_LOG_LEVEL: 'silent' } });
    const { body } = await callerOf(terse.url)('POST', '/api/v1/links', { body: { longUrl } });
    await fetch(`${terse.url}/${body.shortCode}`, { headers: browser, redirect: 'manual' });
    // What is in memory goes to disk at the latest when the process ends.
    expect(await terse.stop()).toBe(0);
    const files = [...expectPrivate(dataFolder), ...expectPrivate(clickSpill)];
    expect(files.some(name => name.startsWith('kafka/'))).toBe(true);
    expect(readdirSync(clickSpill, { recursive: true }).length).toBeGreaterThan(1);
  });

  test('lose access to files of earlier versions, while files of the operator keep their mode', async () => {
    const dataFolder = folder();
    const first = await start({ dataFolder, env: settings });
    await use(first, firstKeyIn(dataFolder)!);
    await first.stop();
    const clickSpill = folder();
    // The spill of a living process, so that it is not taken over.
    const spill = join(clickSpill, `producer~${process.pid}`);
    mkdirSync(spill);
    writeFileSync(join(spill, 'segment'), 'clicks');
    const disk = join(clickSpill, 'disk.txt');
    openToAll(dataFolder);
    openToAll(clickSpill);
    const notes = join(dataFolder, 'notes.txt');
    for (const own of [notes, disk]) writeFileSync(own, 'of the operator', { mode: 0o644 });
    for (const workers of ['1', '2']) {
      const env = { ...settings, TERSE_CLICK_SPILL: clickSpill, TERSE_WORKERS: workers };
      const next = await start({ dataFolder, env });
      for (const own of [notes, disk]) {
        expect(lstatSync(own).mode & 0o777).toBe(0o644);
        rmSync(own);
      }
      expectPrivate(dataFolder);
      expectPrivate(clickSpill);
      await next.stop();
      openToAll(dataFolder);
      openToAll(clickSpill);
      for (const own of [notes, disk]) writeFileSync(own, 'of the operator', { mode: 0o644 });
    }
  });

  test('cannot read what a restore writes', async () => {
    const source = folder();
    const terse = await start({ dataFolder: source, env: settings });
    await use(terse, firstKeyIn(source)!);
    await terse.stop();
    const backup = join(folder(), 'tuesday');
    await runTerse(['backup', backup], { env: { TERSE_DATA: source } });
    const target = folder();
    chmodSync(target, 0o777);
    const { exitCode, stderr } = await runTerse(['restore', backup], { env: { TERSE_DATA: target } });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(expectPrivate(target)).toContain('terse.db');
  });

  test('can read a saved QR code if the umask of the user allows it', async () => {
    const terse = await start({});
    const { body } = await callerOf(terse.url)('POST', '/api/v1/links', { body: { longUrl } });
    const file = join(folder(), 'code.svg');
    const env = { TERSE_SERVER: terse.url, TERSE_KEY: adminKey };
    const { exitCode } = await runTerse(['qr', body.shortCode, '--output', file], { env });
    expect(exitCode).toBe(0);
    expect(lstatSync(file).mode & 0o044).toBe(0o044);
    await terse.stop();
  });
});

describe('the first admin key', () => {
  const env = { TERSE_ADMIN_KEY: undefined, TERSE_LOG_LEVEL: 'debug' };
  const generatedKey = /terse_[0-9A-Za-z_-]{43}/;

  test.each(['1', '2'])('is not in output that could be collected, with %s workers', async workers => {
    const dataFolder = folder();
    const logPath = join(folder(), 'log');
    const terse = await start({
      dataFolder,
      env: { ...env, TERSE_WORKERS: workers },
      stderr: Bun.file(logPath),
    });
    const key = firstKeyIn(dataFolder);
    expect(key).toMatch(generatedKey);
    expect(terse.banner).toContain(join(dataFolder, 'admin-key'));
    expect((await callerOf(terse.url)('GET', '/api/v1/account', { key })).body.role).toBe('admin');
    await terse.stop();
    expect(terse.banner + readFileSync(logPath, 'utf8')).not.toMatch(generatedKey);
  });

  test('is printed once to a terminal and not written to a file', async () => {
    const dataFolder = folder();
    const startAtTerminal = async (): Promise<string> => {
      let shown = '';
      const data = (_terminal: unknown, text: Uint8Array): void => {
        shown += Buffer.from(text).toString();
      };
      const child = Bun.spawn([process.execPath, join(import.meta.dir, '../../src/main.ts'), 'serve'], {
        env: { PATH: process.env.PATH, PORT: '0', TERSE_DATA: dataFolder },
        terminal: { cols: 120, rows: 40, data },
      });
      await until('the server to say that it is ready', async () => /\/docs\s/.test(shown));
      child.kill('SIGTERM');
      await child.exited;
      return shown;
    };
    expect(await startAtTerminal()).toMatch(generatedKey);
    expect(firstKeyIn(dataFolder)).toBeUndefined();
    expect(await startAtTerminal()).not.toMatch(generatedKey);
  });
});

describe('metrics', () => {
  const stranger = '192.0.2.7';
  const introduced = (address: string) => `PROXY TCP4 ${address} 127.0.0.1 40000 80\r\n`;
  const request = (headers: Readonly<Record<string, string>>, path = '/metrics') =>
    [
      `GET ${path} HTTP/1.1`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      '',
      '',
    ].join('\r\n');

  async function ask(
    { url }: Pick<TerseHere, 'url'>,
    headers: Readonly<Record<string, string>> = {},
    { proxyHeader = '', path = '/metrics' } = {},
  ): Promise<RawAnswer> {
    const given = { Host: new URL(url).host, Connection: 'close', ...headers };
    const [answer] = await sendRaw(url, proxyHeader + request(given, path));
    return answer!;
  }

  const isScrape = ({ status, body }: RawAnswer): boolean =>
    status === 200 && body.includes('# TYPE url_redirects_total counter');

  test('are shown to programs on this machine', async () => {
    const terse = await startTerseHere();
    expect(isScrape(await ask(terse))).toBe(true);
    expect(isScrape(await ask(terse, { Host: 'localhost:8080' }))).toBe(true);
    await terse.stop();
  });

  test.each<[string, Readonly<Record<string, string>>]>([
    ['X-Forwarded-For', { 'X-Forwarded-For': stranger }],
    ['X-Forwarded-For that claims to be here', { 'X-Forwarded-For': '127.0.0.1' }],
    ['Forwarded', { Forwarded: `for=${stranger}` }],
    ['Via', { Via: '1.1 proxy' }],
    ['X-Real-IP', { 'X-Real-IP': '127.0.0.1' }],
    ['the public name of the server', { Host: 'sho.rt' }],
  ])('are hidden from clients of an undeclared local proxy: %s', async (_what, headers) => {
    const terse = await startTerseHere();
    const refused = await ask(terse, headers);
    const missing = await ask(terse, headers, { path: '/no-such-link' });
    expect([refused.status, refused.body]).toEqual([404, missing.body]);
    await terse.stop();
  });

  test('are hidden from clients of a trusted proxy, whatever X-Forwarded-For says', async () => {
    const terse = await startTerseHere({ env: { TERSE_TRUSTED_PROXIES: '127.0.0.1/32' } });
    for (const hops of [stranger, '127.0.0.1', `127.0.0.1, ${stranger}`, `${stranger}, 127.0.0.1`, ''])
      expect((await ask(terse, { 'X-Forwarded-For': hops })).status).toBe(404);
    // The proxy itself, or another program beside it.
    expect(isScrape(await ask(terse))).toBe(true);
    await terse.stop();
  });

  describe('on a server that knows the addresses of its clients', () => {
    let terse: TerseHere;
    beforeAll(async () => {
      const env = {
        TERSE_TRUSTED_PROXIES: '127.0.0.1/32',
        TERSE_PROXY_PROTOCOL: 'on',
        TERSE_METRICS_NETWORKS: '10.0.0.0/8',
      };
      terse = await startTerseHere({ env });
    });
    afterAll(() => terse.stop());
    const from = (address: string, headers: Readonly<Record<string, string>> = {}) =>
      ask(terse, headers, { proxyHeader: introduced(address) });

    test('are shown to configured networks and hidden from strangers', async () => {
      expect(isScrape(await from('10.1.2.3', { Host: 'terse.internal' }))).toBe(true);
      expect((await from('10.1.2.3', { 'X-Forwarded-For': stranger })).status).toBe(404);
      for (const Host of ['localhost', '127.0.0.1', 'sho.rt'])
        expect((await from(stranger, { Host })).status).toBe(404);
      expect((await from(stranger, { 'X-Forwarded-For': '10.1.2.3' })).status).toBe(404);
    });

    test('are shown to admin keys from anywhere, and to no other key', async () => {
      const [answer] = await sendRaw(
        terse.url,
        introduced('10.9.9.9') +
          `POST /api/v1/keys HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer ${adminKey}\r\n` +
          `Content-Length: 42\r\n\r\n{"name":"reads","scopes":["stats:read"]}  `,
      );
      const { key: narrow } = JSON.parse(answer!.body);
      expect(isScrape(await from(stranger, { Authorization: `Bearer ${adminKey}` }))).toBe(true);
      expect(isScrape(await from(stranger, { 'X-Api-Key': adminKey }))).toBe(true);
      expect((await from(stranger, { Authorization: `Bearer ${narrow}` })).status).toBe(403);
      expect((await from(stranger, { Authorization: 'Bearer made-up' })).status).toBe(401);
      expect((await from(stranger, { Authorization: `Basic ${btoa(`a:${adminKey}`)}` })).status).toBe(401);
    });
  });

  test('are public if the operator says so', async () => {
    const terse = await startTerseHere({ env: { TERSE_METRICS: 'public' } });
    expect(isScrape(await ask(terse, { 'X-Forwarded-For': stranger, Host: 'sho.rt' }))).toBe(true);
    await terse.stop();
  });

  test.each(['1', '2'])(
    'are served on a separate port with %s workers, and nothing else is',
    async workers => {
      const [port] = freeEnginePorts(1);
      const env = { TERSE_METRICS: 'off', TERSE_METRICS_PORT: String(port), TERSE_WORKERS: workers };
      const terse = await start({ env });
      const own = { url: `http://127.0.0.1:${port}` };
      expect((await ask(terse)).status).toBe(404);
      expect((await ask(terse, { Authorization: `Bearer ${adminKey}` })).status).toBe(404);
      const scrape = await ask(own);
      expect(isScrape(scrape)).toBe(true);
      if (workers !== '1') expect(scrape.body).toContain('terse_workers_serving 2');
      const { body } = await callerOf(terse.url)('POST', '/api/v1/links', { body: { longUrl } });
      for (const path of [`/${body.shortCode}`, '/', '/api/v1/links', '/health/live', '/dashboard'])
        expect((await ask(own, { 'X-Api-Key': adminKey }, { path })).status).toBe(404);
      expect((await fetch(`${own.url}/metrics`, { method: 'POST' })).status).toBe(405);
      expect(await terse.stop()).toBe(0);
    },
  );

  test('on a port that is taken stop the start with one line', async () => {
    const occupant = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
    const env = { TERSE_METRICS_PORT: String(occupant.port), TERSE_DATA: folder(), PORT: '0' };
    for (const TERSE_WORKERS of ['1', '2']) {
      const { exitCode, stderr } = await runTerse(['serve'], { env: { ...env, TERSE_WORKERS } });
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(new RegExp(`^terse: metricsPort ${occupant.port} at 127.0.0.1 .*\n$`));
    }
    occupant.stop();
  });
});
