/** Terse with TLS of its own, as an operator runs it, and the clients that people use. */
import { afterAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { RawConnection, sendRaw } from '../kit/raw-http.ts';
import { selfSigned, writePair } from '../kit/self-signed.ts';
import { adminKey, startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

const folder = temporaryFolder();
const [first, second, third] = ['first.test', 'second.test', 'third.test'].map(name => selfSigned({ name }));
const pair = writePair(folder, first!);
const terse = await startTerseProcess({ env: { ...pair, TERSE_WORKERS: '2' } });
const { port } = new URL(terse.url);

afterAll(async () => {
  await terse.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function run(...command: string[]): Promise<{ exitCode: number; output: string }> {
  const child = Bun.spawn(command, { stdin: new Blob(['']), stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { exitCode: await child.exited, output: stdout + stderr };
}

const create = async (customAlias: string) =>
  fetch(`${terse.url}/api/v1/links`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${adminKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ longUrl: 'https://example.com/', customAlias }),
    tls: { ca: first!.certificate },
  });
const visit = 'GET /visited HTTP/1.1\r\nHost: h\r\n\r\n';
const lastVisit = visit.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

test('short links are created and followed over TLS, and have https addresses', async () => {
  const created = await create('visited');
  expect(created.status).toBe(201);
  expect(await created.json()).toMatchObject({ shortUrl: `https://localhost:${port}/visited` });
  expect(await sendRaw(terse.url, lastVisit)).toMatchObject([
    { status: 302, headers: { location: 'https://example.com/' } },
  ]);
});

describe.skipIf(Bun.which('curl') === null)('curl', () => {
  const followed = ['-sS', '-o', '/dev/null', '-w', '%{http_code} %{redirect_url} %{num_connects}'];

  test('follows a link with the certificate checked, and keeps its connection', async () => {
    const url = `https://localhost:${port}/visited`;
    const { output } = await run(
      'curl',
      '--cacert',
      pair.TERSE_TLS_CERTIFICATE,
      ...followed,
      url,
      '-o',
      '/dev/null',
      url,
    );
    expect(output).toBe('302 https://example.com/ 1302 https://example.com/ 0');
  });

  test('that does not trust the certificate sends no request', async () => {
    const { exitCode } = await run('curl', ...followed, `https://localhost:${port}/visited`);
    expect(exitCode).toBe(60);
  });
});

describe.skipIf(Bun.which('openssl') === null)('openssl', () => {
  const hello = (...options: string[]) =>
    run('openssl', 's_client', '-connect', `127.0.0.1:${port}`, ...options);

  test.each([
    ['-tls1_3', 'New, TLSv1.3, Cipher is TLS_'],
    ['-tls1_2', 'New, TLSv1.2, Cipher is ECDHE-'],
  ])('speaks %s', async (version, agreed) => {
    expect((await hello(version)).output).toContain(agreed);
  });

  test.each([
    ['TLS 1.1', ['-tls1_1', '-cipher', 'ALL:@SECLEVEL=0']],
    ['TLS 1.0', ['-tls1', '-cipher', 'ALL:@SECLEVEL=0']],
    ['a key without forward secrecy', ['-tls1_2', '-cipher', 'kRSA:@SECLEVEL=0']],
    ['encryption that is not authenticated', ['-tls1_2', '-cipher', 'ECDHE+AES+SHA1:@SECLEVEL=0']],
    ['HTTP/2 and nothing else', ['-alpn', 'h2']],
  ])('is rejected %s', async (_what, options) => {
    const { output } = await hello(...options);
    expect(output).not.toMatch(/Cipher is (?!\(NONE\))/);
  });

  test('chooses HTTP/1.1 where there is a choice', async () => {
    expect((await hello('-alpn', 'h2,http/1.1')).output).toContain('ALPN protocol: http/1.1');
  });
});

describe('a certificate that is renewed', () => {
  const nameShown = async (): Promise<string | undefined> => {
    const client = await RawConnection.open(terse.url);
    const { serverName } = client;
    client.abandon();
    return serverName;
  };
  /** Every worker has a share of new connections. */
  const areAllShown = async (name: string): Promise<boolean> => {
    for (let count = 0; count < 16; count += 1) if ((await nameShown()) !== name) return false;
    return true;
  };
  const untilShown = async (name: string): Promise<void> => {
    await until('all workers to show the certificate', () => areAllShown(name));
  };

  test('is loaded by every worker when its files change, and no visitor is lost or rejected', async () => {
    await create('visited');
    const kept = await RawConnection.open(terse.url);
    kept.write(visit);
    await kept.answers(1);
    let isOver = false;
    const visitor = async (): Promise<number> => {
      let visits = 0;
      for (; !isOver; visits += 1)
        expect(await sendRaw(terse.url, lastVisit)).toMatchObject([{ status: 302 }]);
      return visits;
    };
    const visitors = [visitor(), visitor()];
    writePair(folder, second!);
    await untilShown('second.test');
    isOver = true;
    for (const visits of await Promise.all(visitors)) expect(visits).toBeGreaterThan(0);
    kept.write(visit);
    expect(await kept.answers(2)).toMatchObject([{ status: 302 }, { status: 302 }]);
    kept.abandon();
  });

  test('is loaded at a SIGHUP too, by the workers that replace the old ones', async () => {
    writePair(folder, third!);
    process.kill(terse.pid, 'SIGHUP');
    await untilShown('third.test');
    expect(await sendRaw(terse.url, lastVisit)).toMatchObject([{ status: 302 }]);
  });
});
