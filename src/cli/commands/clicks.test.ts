import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();

test.each([
  [['clicks']],
  [['clicks', 'import']],
  [['clicks', 'export', 'x']],
  [['clicks', 'import', 'x', '--y']],
])('%p is a wrong command line', async argv => {
  const { exitCode, stderr } = await api.terse(argv);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/usage: terse clicks|terse help clicks/);
});

test('an import rejects what it cannot work with, in one line, and makes nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-cli-'));
  const data = join(folder, 'data');
  const imported = (env: Record<string, string>) =>
    api.terse(['clicks', 'import', join(folder, 'missing.log')], { env: { TERSE_DATA: data, ...env } });
  try {
    expect(await imported({})).toMatchObject({
      exitCode: 1,
      stderr: `terse: there is no installation in ${data}: give the settings of the server\n`,
    });
    expect(await imported({ TERSE_CLICKS: 'off' })).toMatchObject({
      exitCode: 1,
      stderr: 'terse: clicks are not counted: TERSE_CLICKS is off\n',
    });
    expect(await imported({ TERSE_LINKS: 'memory' })).toMatchObject({
      exitCode: 1,
      stderr: 'terse: links in memory are known to their own process only\n',
    });
    expect(await Bun.file(join(data, 'terse.db')).exists()).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('archive says when there is none', async () => {
  expect(await api.terse(['archive'])).toMatchObject({
    exitCode: 1,
    stderr: 'terse: there is no archive: TERSE_ARCHIVE names none\n',
  });
});

test('archive rejects an invalid address, and a stream whose retention is too short', async () => {
  const wrong = await api.terse(['archive'], { env: { TERSE_ARCHIVE: 's3://' } });
  expect(wrong).toMatchObject({ exitCode: 2 });
  expect(wrong.stderr).toContain('use none or s3://BUCKET/PREFIX?region=…');
  const kafka = await api.terse(['archive'], {
    env: { TERSE_ARCHIVE: 's3://terse', TERSE_STREAM: 'kafka://127.0.0.1:9092/clicks?retentionHours=24' },
  });
  expect(kafka).toMatchObject({
    exitCode: 2,
    stderr:
      'terse: TERSE_ARCHIVE=s3://terse needs clicks to stay in Kafka until their day is archived: use retentionHours=72 or more\n',
  });
});

test.each([
  [['archive', 'burn']],
  [['archive', 'restore']],
  [['archive', 'list', '--day', '2026-11-01']],
  [['archive', 'restore', '--day', 'yesterday']],
])('%p is a wrong command line', async argv => {
  const { exitCode, stderr } = await api.terse(argv);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/usage: terse archive|--day must be a day/);
});
