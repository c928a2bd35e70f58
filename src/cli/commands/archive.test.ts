import { expect, test } from 'bun:test';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();

test('archive says when there is none', async () => {
  expect(await api.terse(['archive'])).toMatchObject({
    exitCode: 1,
    stderr: 'terse: there is no archive: TERSE_ARCHIVE names none\n',
  });
});

test('archive refuses an address that cannot be one, and a stream that forgets too soon', async () => {
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
