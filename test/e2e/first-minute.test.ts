/**
 * The first minute of an operator: Terse is started as `npm start` starts it, at a terminal or in a pipe, and every
 * address and every command that it prints is tried exactly as it was printed.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import packageDocument from '../../package.json' with { type: 'json' };
import { freeEnginePorts } from '../kit/engines/free-port.ts';
import { selfSigned, writePair } from '../kit/self-signed.ts';
import { firstKeyIn, temporaryFolder } from '../kit/terse-process.ts';

setDefaultTimeout(90_000);

const root = join(import.meta.dir, '../..');
const start = [process.execPath, 'src/main.ts', 'serve'];
const waitMaxMs = 60_000;

interface Started {
  /** Everything that it printed. */
  readonly text: string;
  readonly dataFolder: string;
}

type Place = 'a terminal' | 'a pipe';
type Env = Readonly<Record<string, string>>;

/** Starts Terse for the first time on an empty folder, calls `look` with what it printed, and stops it. */
async function firstStart(place: Place, env: Env, look: (started: Started) => Promise<void>): Promise<void> {
  const folder = temporaryFolder();
  // A name that a shell would split.
  const dataFolder = join(folder, "it's data");
  const lastPart = env.TERSE_ROLES === undefined ? /-d '.*'\n\n/ : /ready at \S+\n\n/;
  let text = '';
  const printed = Promise.withResolvers<void>();
  const decoder = new TextDecoder();
  const take = (chunk: Uint8Array): void => {
    text += decoder.decode(chunk, { stream: true }).replaceAll('\r\n', '\n');
    if (/ready at/.test(text) && lastPart.test(text) && text.endsWith('\n\n')) printed.resolve();
  };
  const context = {
    PATH: process.env.PATH,
    PORT: '0',
    TERSE_DATA: dataFolder,
    TERSE_LOG_LEVEL: 'error',
  };
  const options = { cwd: root, env: { ...context, ...env } };
  const child =
    place === 'a terminal'
      ? Bun.spawn(start, { ...options, terminal: { cols: 80, rows: 24, data: (_, chunk) => take(chunk) } })
      : Bun.spawn(start, { ...options, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
  const isRead = child.stdout instanceof ReadableStream ? readAll(child.stdout, take) : undefined;
  try {
    const late = Bun.sleep(waitMaxMs).then(() => Promise.reject(new Error(`not ready: ${text}`)));
    await Promise.race([printed.promise, late]);
    await look({ text, dataFolder });
  } finally {
    child.kill('SIGTERM');
    await child.exited;
    await isRead;
    child.terminal?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function readAll(stream: ReadableStream<Uint8Array>, take: (chunk: Uint8Array) => void): Promise<void> {
  for await (const chunk of stream) take(chunk);
}

async function shell(command: string): Promise<{ exitCode: number; stdout: string }> {
  const child = Bun.spawn(['sh', '-c', command], {
    cwd: '/',
    env: { PATH: process.env.PATH },
    stderr: 'pipe',
  });
  const [stdout, exitCode] = await Promise.all([child.stdout.text(), child.exited, child.stderr.text()]);
  return { exitCode, stdout };
}

const commandsIn = (text: string): string[] =>
  [...text.matchAll(/^ {4}(curl .*)$/gm)].map(([, line]) => line!);
const addressesIn = (text: string): string[] => [...text.matchAll(/ at +(\S+)$/gm)].map(([, url]) => url!);

/** By curl, which knows that all of `.localhost` is this machine; it trusts the certificate, as a browser would. */
const statusOf = async (url: string, more: readonly string[] = []): Promise<string> =>
  (await shell(`curl -s -o /dev/null -w '%{http_code}' ${more.join(' ')} '${url}'`)).stdout;

async function tryEverything({ text, dataFolder }: Started, more: readonly string[] = []): Promise<void> {
  const addresses = addressesIn(text);
  expect(addresses.map(url => new URL(url).pathname)).toEqual(['/', '/dashboard', '/docs']);
  for (const url of addresses) expect([url, await statusOf(url, more)]).toEqual([url, '200']);

  const commands = commandsIn(text);
  expect(commands).toHaveLength(1);
  const made = await shell(commands[0]!);
  expect(made.exitCode).toBe(0);
  const link = JSON.parse(made.stdout);
  expect(link).toMatchObject({ longUrl: 'https://example.com/', status: 'active' });
  expect(new URL(link.shortUrl).origin).toBe(new URL(addresses[0]!).origin);
  expect(await statusOf(link.shortUrl, more)).toBe('302');

  // The key that was printed, or the file that was named, is the administrator's.
  const key = /^ {4}(terse_\S+)$/m.exec(text)?.[1] ?? firstKeyIn(dataFolder);
  const accounts = `${new URL(link.shortUrl).origin}/api/v1/accounts`;
  expect(await statusOf(accounts, [...more, `-H 'Authorization: Bearer ${key}'`])).toBe('200');
}

const tools = ['sh', 'curl'].filter(tool => Bun.which(tool) === null);
if (tools.length > 0) {
  test.skip(`the first minute (because this machine has no ${tools.join(' and no ')})`, () => {});
} else {
  test('is started here as npm start does', () => {
    expect(packageDocument.scripts.start).toBe('bun src/main.ts serve');
  });

  describe.each(['a terminal', 'a pipe'] as const)('printed to %s, everything works as printed', place => {
    test('with no settings but a free port', () =>
      firstStart(place, {}, async started => {
        await tryEverything(started);
        const key = firstKeyIn(started.dataFolder);
        if (place === 'a terminal') expect(key).toBeUndefined();
        else expect(started.text).not.toContain(key!);
      }));

    test('with several workers', () => firstStart(place, { TERSE_WORKERS: '2' }, tryEverything));

    test.each(['redirect', 'worker'])('the role %s names no dashboard, no API and no key', role =>
      firstStart(place, { TERSE_ROLES: role }, async ({ text, dataFolder }) => {
        expect(text).not.toMatch(/dashboard|\/docs|\/api\/|API|curl|key|terse_/);
        expect(await statusOf(`${addressesIn(text)[0]}/health/live`)).toBe('200');
        expect(firstKeyIn(dataFolder)).toBeUndefined();
      }),
    );
  });

  describe('whatever the settings, everything works as printed', () => {
    test('with a port and a public address', async () => {
      const [port] = freeEnginePorts(1);
      const env = { PORT: String(port), TERSE_BASE_URL: `http://terse.localhost:${port}` };
      await firstStart('a terminal', env, async started => {
        expect(started.text).toContain(`ready at http://terse.localhost:${port}\n`);
        await tryEverything(started);
      });
    });

    test('with a public address that does not lead here yet', () =>
      firstStart('a terminal', { TERSE_BASE_URL: 'https://terse.invalid' }, async ({ text }) => {
        const { exitCode, stdout } = await shell(commandsIn(text)[0]!);
        expect(exitCode).toBe(0);
        expect(JSON.parse(stdout).shortUrl).toStartWith('https://terse.invalid/');
      }));

    test('with TLS', async () => {
      const folder = temporaryFolder();
      const env = writePair(folder, selfSigned());
      const trust = [`--cacert ${env.TERSE_TLS_CERTIFICATE}`];
      await firstStart('a terminal', env, started => tryEverything(started, trust));
      rmSync(folder, { recursive: true, force: true });
    });

    test('with the PROXY protocol, spoken by this machine', () =>
      firstStart(
        'a terminal',
        { TERSE_PROXY_PROTOCOL: 'on', TERSE_TRUSTED_PROXIES: '127.0.0.0/8,::1/128' },
        started => tryEverything(started, ['--haproxy-protocol']),
      ));

    const hasIpv6 = Object.values(networkInterfaces())
      .flat()
      .some(place => place?.address === '::1');
    const title = 'with another address to listen on';
    if (hasIpv6) test(title, () => firstStart('a terminal', { HOST: '::1' }, tryEverything));
    else test.skip(`${title} (because this machine has no IPv6)`, () => {});
  });
}

describe('a server without engines', () => {
  test('has loaded the client of no engine', async () => {
    const load = `await import('./src/compose.ts'); console.log(JSON.stringify(Object.keys(require.cache)));`;
    const child = Bun.spawn([process.execPath, '-e', load], { cwd: root, stdout: 'pipe', stderr: 'inherit' });
    const files: string[] = JSON.parse(await new Response(child.stdout).text());
    expect(files).toContain(join(root, 'src/drivers.ts'));
    const clients = /node_modules\/(?:@redis|pg|@aws-sdk|@platformatic|protobufjs)\//;
    expect(files.filter(file => clients.test(file))).toEqual([]);
  });
});
