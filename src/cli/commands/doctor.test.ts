import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-doctor-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('doctor', () => {
  test('says what it has found, and is content with a folder of its own', async () => {
    const outcome = await api.terse(['doctor', '--data', folder]);
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
  }, 30_000);

  test('as JSON is for scripts', async () => {
    const outcome = await api.terse(['doctor', '--data', folder, '--links', 'memory', '--json']);
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

  test('looks at an address that makes no sense without falling over it', async () => {
    const outcome = await api.terse(['doctor', '--data', folder, '--cache', 'redis://:0:0']);
    expect(outcome.exitCode).toBeGreaterThan(0);
  });
});
