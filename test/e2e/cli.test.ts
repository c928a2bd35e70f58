/** The installed command line: plain Node starts it, and it calls a real server. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import packageDocument from '../../package.json' with { type: 'json' };
import { callerOf } from '../kit/client.ts';
import { type Outcome, type RunOptions, runTerse } from '../kit/command-line.ts';
import { adminKey, startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';

setDefaultTimeout(60_000);

const server = await startTerseProcess();
const folder = temporaryFolder();
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});
const call = callerOf(server.url);
const publicUrl = server.url.replace('127.0.0.1', 'localhost');

const terse = (argv: readonly string[], { env, stdin }: RunOptions = {}): Promise<Outcome> =>
  runTerse(argv, {
    env: { TERSE_SERVER: server.url, TERSE_KEY: adminKey, ...env },
    ...(stdin !== undefined && { stdin }),
  });

test('a link is created, shown, changed and deleted by its short URL or its code', async () => {
  const made = await terse([
    'shorten',
    'https://example.com/cli',
    '--alias=by-cli',
    '--tags=a,b',
    '--expires=7d',
  ]);
  expect(made).toEqual({ exitCode: 0, stdout: `${publicUrl}/by-cli\n`, stderr: '' });
  const link = (await call('GET', '/api/v1/links/by-cli')).body;
  expect(link).toMatchObject({ tags: ['a', 'b'], custom: true });
  expect(Date.parse(link.expiresAt) - Date.parse(link.createdAt)).toBeGreaterThan(6.9 * 86_400_000);

  const shown = await terse(['show', `${publicUrl}/by-cli`]);
  expect(shown.exitCode).toBe(0);
  expect(shown.stdout).toContain('https://example.com/cli');
  expect(shown.stdout).toContain('a, b');

  const changed = await terse([
    'edit',
    'by-cli',
    '--url=https://example.com/changed',
    '--status=disabled',
    '--expires=never',
    '--json',
  ]);
  expect(changed.exitCode).toBe(0);
  expect(JSON.parse(changed.stdout)).toEqual((await call('GET', '/api/v1/links/by-cli')).body);
  expect(JSON.parse(changed.stdout)).toMatchObject({
    longUrl: 'https://example.com/changed',
    status: 'disabled',
    expiresAt: null,
    tags: ['a', 'b'],
  });

  expect(await terse(['rm', 'by-cli'])).toMatchObject({ exitCode: 0, stdout: 'Deleted by-cli.\n' });
  expect(await call('GET', '/by-cli')).toMatchObject({ status: 410 });
  const again = await terse(['show', 'by-cli']);
  expect(again).toMatchObject({ exitCode: 1, stdout: '' });
  expect(again.stderr).toStartWith('terse: This link was deleted');
});

describe('every field of the API', () => {
  const fields = {
    title: 'From the shell',
    tags: ['one', 'two'],
    expiresAt: '2035-01-01T00:00:00.000Z',
    redirectType: 308,
    maxClicks: 9,
    forwardQuery: true,
    publicStats: true,
  };
  const flags = [
    '--title=From the shell',
    '--tags=one,two',
    '--expires=2035-01-01T00:00:00Z',
    '--redirect=308',
    '--max-clicks=9',
    '--forward-query=on',
    '--public-stats=on',
  ];
  const longUrl = 'https://example.com/every-field';

  test('can be set by shorten', async () => {
    const made = await terse(['shorten', longUrl, '--alias=every-field', ...flags, '--json']);
    expect(JSON.parse(made.stdout)).toMatchObject({ ...fields, longUrl, shortCode: 'every-field' });
    const found = await terse(['shorten', longUrl, '--find-existing']);
    expect(found.stdout).toBe(`${publicUrl}/every-field\n`);
  });

  test('can be set by edit, and set back', async () => {
    await terse(['shorten', 'https://example.com/', '--alias=every-change']);
    const change = ['edit', 'every-change', `--url=${longUrl}`, '--status=disabled', '--json'];
    expect(JSON.parse((await terse([...change, ...flags])).stdout)).toMatchObject({
      ...fields,
      longUrl,
      status: 'disabled',
    });
    const back = ['--status=active', '--title=', '--tags=', '--expires=never', '--redirect=302'];
    const off = ['--max-clicks=none', '--forward-query=off', '--public-stats=off'];
    expect(
      JSON.parse((await terse(['edit', 'every-change', ...back, ...off, '--json'])).stdout),
    ).toMatchObject({
      status: 'active',
      title: null,
      tags: [],
      expiresAt: null,
      redirectType: 302,
      maxClicks: null,
      forwardQuery: false,
      publicStats: false,
    });
  });
});

test('many links are created from the standard input; a bad line is named and the others are created', async () => {
  const stdin = 'https://example.com/one\nftp://example.com/\nhttps://example.com/three\n';
  const { exitCode, stdout, stderr } = await terse(['shorten', '-', '--tags=piped'], { stdin });
  expect(exitCode).toBe(1);
  expect(stdout.trim().split('\n')).toHaveLength(2);
  expect(stderr).toStartWith('terse: line 2: The long URL cannot be shortened');
  const { links } = (await call('GET', '/api/v1/links?tag=piped&sort=createdAt')).body;
  const urls = links.map((link: { shortUrl: string }) => link.shortUrl);
  expect(urls).toEqual(stdout.trim().split('\n'));
});

test('links are listed as a table or as JSON, filtered, in order and page by page', async () => {
  for (const name of ['first', 'second', 'third']) {
    await call('POST', '/api/v1/links', {
      body: { longUrl: 'https://example.com/', customAlias: `listed-${name}`, tags: ['listed'], title: name },
    });
  }
  const table = await terse(['list', '--tag=listed', '--sort=oldest', '--limit=2']);
  expect(table.exitCode).toBe(0);
  const [heading, ...rows] = table.stdout.trimEnd().split('\n');
  expect(heading).toMatch(/^SHORT URL +STATUS +EXPIRES +LONG URL$/);
  expect(rows.map(row => row.split(' ')[0])).toEqual([
    `${publicUrl}/listed-first`,
    `${publicUrl}/listed-second`,
  ]);
  const cursor = /--cursor=(\S+)/.exec(table.stderr)?.[1];
  const rest = await terse(['list', '--tag=listed', '--sort=oldest', `--cursor=${cursor}`, '--json']);
  expect(JSON.parse(rest.stdout)).toMatchObject({ links: [{ shortCode: 'listed-third' }], nextCursor: null });
});

test('a QR code goes to the standard output or to a file', async () => {
  await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/', customAlias: 'drawn' } });
  const svg = await terse(['qr', 'drawn', '--size=128']);
  expect(svg).toMatchObject({ exitCode: 0, stderr: '' });
  expect(svg.stdout).toBe((await call('GET', '/api/v1/links/drawn/qr?size=128')).body);
  const file = join(folder, 'drawn.png');
  expect(await terse(['qr', 'drawn', '--format=png', `--output=${file}`])).toMatchObject({ exitCode: 0 });
  expect(Buffer.from(await Bun.file(file).bytes()).toString('latin1', 1, 4)).toBe('PNG');
});

test('a key is created, printed alone on the standard output, works, and can be revoked', async () => {
  const made = await terse(['keys', 'create', 'from the shell']);
  expect(made.exitCode).toBe(0);
  const key = made.stdout.trim();
  expect(made.stderr).not.toContain(key);
  const listed = await terse(['keys', '--json'], { env: { TERSE_KEY: key } });
  const { keys } = JSON.parse(listed.stdout);
  const { id } = keys.find((each: { name: string }) => each.name === 'from the shell');
  expect(listed.stdout).not.toContain(key);
  expect(await terse(['keys', 'revoke', id])).toMatchObject({ exitCode: 0, stdout: `Revoked ${id}.\n` });
  const refused = await terse(['list', '--key', key], { env: { TERSE_KEY: undefined } });
  expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
  expect(refused.stderr).toContain('Give a key with --key or TERSE_KEY');
  expect(refused.stderr).not.toContain(key);
});

test('the configuration is printed with its sources and without its secrets', async () => {
  const env = { TERSE_ADMIN_KEY: 'a-secret-of-the-operator', PORT: '9001' };
  const shown = await terse(['config', '--code-length=8'], { env });
  expect(shown.exitCode).toBe(0);
  expect(shown.stdout).toMatch(/^port +PORT +environment +9001$/m);
  expect(shown.stdout).toMatch(/^codeLength +TERSE_CODE_LENGTH +flag +8$/m);
  const json = await terse(['config', '--json'], { env });
  expect(JSON.parse(json.stdout).port).toEqual({ value: 9001, source: 'environment' });
  for (const { stdout, stderr } of [shown, json]) {
    expect(stdout + stderr).not.toContain(env.TERSE_ADMIN_KEY);
    expect(stdout + stderr).not.toContain(adminKey);
  }
});

test('the version is that of the package', async () => {
  expect(await terse(['version'])).toEqual({
    exitCode: 0,
    stdout: `${packageDocument.version}\n`,
    stderr: '',
  });
});

describe('a failure has a message on stderr, nothing on stdout, and an exit code', () => {
  test.each([
    ['a URL that is refused', ['shorten', 'javascript:alert(1)'], 1, /cannot be shortened/],
    ['an alias that is taken', ['shorten', 'https://example.com/', '--alias=api'], 1, /reserved/],
    ['a link that is not there', ['show', 'no-such-link'], 1, /Link not found/],
    [
      'a server that is not there',
      ['list', '--server=http://127.0.0.1:1'],
      1,
      /cannot reach http:\/\/127.0.0.1:1/,
    ],
    ['an unknown command', ['shroten'], 2, /did you mean shorten\?/],
    ['an unknown option', ['list', '--limt=3'], 2, /did you mean --limit\?/],
    ['a missing operand', ['show'], 2, /usage: terse show CODE/],
    ['a wrong setting', ['serve', '--port=nine'], 2, /--port=nine is not allowed/],
    [
      'engines that do not go together',
      ['serve', '--stats=clickhouse://localhost/terse'],
      2,
      /needs TERSE_STREAM/,
    ],
  ] as const)('%s', async (_what, argv, exitCode, words) => {
    const outcome = await terse(argv);
    expect(outcome).toMatchObject({ exitCode, stdout: '' });
    expect(outcome.stderr).toMatch(words);
    expect(outcome.stderr).not.toMatch(/\n\s+at /);
  });
});

test('an invitation is printed as the address that the invited person opens', async () => {
  const account = ['accounts', 'create', 'Grace', '--email=grace@example.com', '--json'];
  const { id } = JSON.parse((await terse(account)).stdout);
  const invited = await terse(['accounts', 'invite', id]);
  expect(invited.exitCode).toBe(0);
  const address = new URL(invited.stdout.trim());
  expect(address.origin).toBe(publicUrl);
  const page = await fetch(address);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toStartWith('text/html');
  const accepted = await call('POST', '/api/v1/invitations/accept', {
    key: undefined,
    body: { token: address.hash.slice(1), password: 'a password worth keeping' },
  });
  expect(accepted).toMatchObject({ status: 200, body: { id, hasPassword: true } });
});

test('an account is created, given a restricted key, suspended and unsuspended', async () => {
  const made = JSON.parse((await terse(['accounts', 'create', 'Ada', '--plan=pro', '--json'])).stdout);
  expect(made).toMatchObject({ name: 'Ada', plan: 'pro', role: 'member' });
  const { stdout } = await terse(['keys', 'create', 'reader', `--account=${made.id}`, '--scopes=links:read']);
  const env = { TERSE_KEY: stdout.trim() };
  expect((await terse(['list'], { env })).exitCode).toBe(0);
  const refused = await terse(['shorten', 'https://example.com/'], { env });
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('links:write') });
  await terse(['accounts', 'suspend', made.id, '--reason=testing']);
  expect((await terse(['list'], { env })).stderr).toContain('suspended');
  await terse(['accounts', 'unsuspend', made.id]);
  expect((await terse(['list'], { env })).exitCode).toBe(0);
  const listed = await terse(['accounts']);
  expect(listed.stdout).toContain(made.id);
});
