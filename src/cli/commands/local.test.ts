import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();

describe('without a server', () => {
  const broken = { PORT: 'x', TERSE_NONSENSE: '1' };

  test('help explains every command, whatever the configuration', async () => {
    const overview = await api.terse(['help'], { env: broken });
    expect(overview.exitCode).toBe(0);
    for (const argv of [[], ['--help'], ['-h']]) expect((await api.terse(argv)).stdout).toBe(overview.stdout);
    const names = [...overview.stdout.matchAll(/^ {2}(\w+) /gm)].map(match => match[1]!);
    expect(names.join(' ')).toBe(
      'serve shorten list show edit rm qr stats reconcile keys accounts moderate setup migrate archive clicks backup restore marks doctor config version help',
    );
    for (const name of names) {
      const explained = await api.terse(['help', name], { env: broken });
      expect(explained.exitCode).toBe(0);
      expect(explained.stdout).toStartWith(`Usage: terse ${name}`);
      expect((await api.terse([name, 'x', '--help'], { env: broken })).stdout).toBe(explained.stdout);
    }
  });

  test('help lists the settings a command takes', async () => {
    const serve = await api.terse(['help', 'serve']);
    expect(serve.stdout).toContain('--trusted-proxies, TERSE_TRUSTED_PROXIES');
    expect(serve.stdout).not.toContain('TERSE_SERVER');
    expect((await api.terse(['help', 'list'])).stdout).toContain('--server, TERSE_SERVER');
  });

  test('version prints the version, whatever the configuration', async () => {
    for (const argv of [['version'], ['--version'], ['-v']]) {
      const outcome = await api.terse(argv, { env: broken });
      expect(outcome.exitCode).toBe(0);
      expect(outcome.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    }
  });

  test('config prints value and source of each setting and no secret', async () => {
    const env = { TERSE_ADMIN_KEY: 'hunter2-hunter2-hunter2', HOST: '0.0.0.0' };
    const table = await api.terse(['config', '--port', '9000'], { env });
    expect(table.exitCode).toBe(0);
    expect(table.stdout).toMatch(/^port +PORT +flag +9000$/m);
    expect(table.stdout).toMatch(/^host +HOST +environment +0\.0\.0\.0$/m);
    expect(table.stdout).toMatch(/^adminKey +TERSE_ADMIN_KEY +environment +\(hidden\)$/m);
    const json = await api.terse(['config', '--json', '--port', '9000'], { env });
    expect(JSON.parse(json.stdout)).toMatchObject({
      port: { value: 9000, source: 'flag' },
      anonymous: { value: true, source: 'default' },
      adminKey: { value: '(hidden)', source: 'environment' },
    });
    expect(table.stdout + json.stdout).not.toContain('hunter2');
  });

  test('config also prints settings that cannot be started, and says so', async () => {
    const outcome = await api.terse(['config', '--stats=clickhouse://h:1/d']);
    expect(outcome.stdout).toMatch(/^stats +TERSE_STATS +flag +clickhouse:\/\/h:1\/d$/m);
    expect(outcome).toMatchObject({
      exitCode: 2,
      stderr:
        'terse: --stats=clickhouse://h:1/d needs TERSE_STREAM=kafka://…, which carries the clicks there\n',
    });
  });
});

test('setup says that an embedded store needs nothing', async () => {
  expect(await api.terse(['setup', '--data', './somewhere'])).toMatchObject({
    exitCode: 0,
    stdout: 'the embedded store in ./somewhere has all that it needs\n',
  });
});

test('setup that fails says why in one line and exits with 1', async () => {
  const outcome = await api.terse(['setup'], {
    env: { TERSE_LINKS: 'dynamodb://terse?region=eu-west-1&endpoint=http://127.0.0.1:1' },
  });
  expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
  expect(outcome.stderr).toMatch(
    /^terse: the DynamoDB table terse at http:\/\/127\.0\.0\.1:1 cannot be used: .+\n$/,
  );
});

describe('doctor', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'terse-doctor-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  describe('doctor', () => {
    test('reports its findings, and accepts a private folder', async () => {
      const outcome = await api.terse(['doctor', '--port', '0', '--data', folder]);
      expect(outcome.stdout).toContain(`data folder: folder: ${folder}\n`);
      expect(outcome.stdout).toMatch(/^\d+ ok, \d+ to look at, 0 to fix\n$/m);
      expect(outcome).toMatchObject({ exitCode: 0, stderr: '' });
    });

    test('fails when something has to be fixed, says how, and no password', async () => {
      const links = 'postgres://root:hunter2@127.0.0.1:1/terse';
      const outcome = await api.terse([
        'doctor',
        '--data',
        folder,
        '--links',
        links,
        '--cache',
        'redis://127.0.0.1:1',
      ]);
      expect(outcome.exitCode).toBe(1);
      expect(outcome.stdout).toMatch(
        /^fail {2}postgres: reachable: 127\.0\.0\.1:1\/terse: .+\n {6}→ start Postgres/m,
      );
      expect(outcome.stdout).toMatch(/^fail {2}redis: reachable: 127\.0\.0\.1:1: .+\n {6}→ start Redis/m);
      expect(outcome.stdout).not.toContain('hunter2');
    });

    test('as JSON is for scripts', async () => {
      const outcome = await api.terse([
        'doctor',
        '--port',
        '0',
        '--data',
        folder,
        '--links',
        'memory',
        '--json',
      ]);
      expect(outcome.exitCode).toBe(0);
      expect(JSON.parse(outcome.stdout)).toMatchObject({
        fail: 0,
        findings: expect.arrayContaining([
          {
            subject: 'links',
            check: 'store',
            verdict: 'warn',
            detail: 'links are kept in memory and forgotten at the end',
            fix: 'set TERSE_LINKS=sqlite',
          },
        ]),
      });
    });

    test('reports an invalid address without crashing', async () => {
      const outcome = await api.terse(['doctor', '--data', folder, '--cache', 'redis://:0:0']);
      expect(outcome.exitCode).toBeGreaterThan(0);
    });
  });
});
