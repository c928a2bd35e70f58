import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FakeInstallation, fakeInstallation } from '../../tools/backup/fake-installation.ts';
import { fakeApi } from '../fake-api.ts';

/** These tests sync often, which takes long on a busy disk. */
setDefaultTimeout(60_000);

const api = fakeApi();
let installation: FakeInstallation;
let place: string;
let folder: string;
beforeEach(async () => {
  installation = await fakeInstallation(1_200);
  place = mkdtempSync(join(tmpdir(), 'terse-cli-backup-'));
  folder = join(place, 'monday');
});
afterEach(() => {
  for (const each of [place, installation.config.data]) rmSync(each, { recursive: true, force: true });
});

const backedUp = () => api.terse(['backup', folder, '--data', installation.config.data]);

describe('backup', () => {
  test('says what it saved, part by part, and that it read it back', async () => {
    const { exitCode, stdout, stderr } = await backedUp();
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      /^stats\.db: \d+ rows, \d\.\d MB\nclicks: 2 files, 0\.0 MB\nterse\.db: [\d,]+ rows, \d\.\d MB\n/,
    );
    expect(stdout).toEndWith(`Verified: ${folder} has 1,200 links.\n`);
  });

  test('rejects a name that is taken in one line', async () => {
    await backedUp();
    expect(await backedUp()).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: `terse: ${folder} already exists: choose another name\n`,
    });
  });

  test('can be checked later, and a damaged one is named', async () => {
    await backedUp();
    const whole = await api.terse(['backup', '--check', folder]);
    expect(whole.exitCode).toBe(0);
    expect(whole.stdout).toMatch(/^.+ is whole: 1,200 links of \d{4}-\d\d-\d\dT.+Z\n$/);
    writeFileSync(join(folder, 'clicks', 'forgotten'), 'code9 9\n');
    const damaged = await api.terse(['backup', '--check', folder]);
    expect(damaged.exitCode).toBe(1);
    expect(damaged.stderr).toStartWith(
      `terse: ${join(folder, 'clicks', 'forgotten')} has 8 bytes instead of`,
    );
  });
});

describe('restore', () => {
  test('says what came back, which ids are skipped, and what to do next', async () => {
    await backedUp();
    const data = join(place, 'data');
    const { exitCode, stdout } = await api.terse(['restore', folder, '--data', data]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(
      'terse.db: as it was\nclicks: 2 files as they were\ncodes with 7 characters: 10,000,000 skipped that may have been given since\n',
    );
    expect(stdout).toMatch(/Restored: .+ has 1,200 links of .+\. Start Terse on it now\.\n$/);
    expect(existsSync(join(data, 'terse.db'))).toBe(true);
  });

  test('that completes an interrupted one says just that', async () => {
    await backedUp();
    const data = join(place, 'data');
    await api.terse(['restore', folder, '--data', data]);
    mkdirSync(join(data, 'restore.complete'));
    renameSync(join(data, 'terse.db'), join(data, 'restore.complete', 'terse.db'));
    expect(await api.terse(['restore', folder, '--data', data])).toMatchObject({
      exitCode: 0,
      stdout: `A restore into ${data} that was cut off before is finished now.\n`,
    });
    expect(existsSync(join(data, 'terse.db'))).toBe(true);
  });

  test('overwrites nothing', async () => {
    await backedUp();
    const { data } = installation.config;
    expect(await api.terse(['restore', folder, '--data', data])).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: `terse: ${data} has an installation already (stats.db): move it elsewhere first\n`,
    });
  });
});

describe('marks', () => {
  test('are shown, and raised by a number', async () => {
    const settings = ['--data', installation.config.data];
    expect((await api.terse(['marks', ...settings])).stdout).toBe(
      'CODE LENGTH  FROM  MARK\n7            0     20,000\n',
    );
    expect((await api.terse(['marks', '--raise', '1000000', ...settings])).stdout).toBe(
      'CODE LENGTH  FROM  MARK\n7            0     1,020,000\n',
    );
  });
});

test.each([
  [['backup']],
  [['restore']],
  [['restore', 'a', '--margin', 'many']],
  [['restore', 'a', '--margin', '9999999999999']],
  [['marks', '--raise', '0']],
  [['marks', 'raise']],
])('%p is a wrong command line', async argv => {
  expect((await api.terse(argv)).exitCode).toBe(2);
});
