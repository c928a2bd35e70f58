import { expect, test } from 'bun:test';
import { requireArchiveParts } from './archive-requirements.ts';
import { awsKeysOfProcess, loadConfig } from './config.ts';

const configOf = (env: Record<string, string>) => loadConfig({ argv: [], env, readFile: () => '{}' });

test('an archive needs keys to it', () => {
  const config = configOf({ TERSE_ARCHIVE: 's3://terse' });
  expect(() => requireArchiveParts(config, true)).not.toThrow();
  expect(() => requireArchiveParts(config, false)).toThrow(
    'TERSE_ARCHIVE=s3://terse needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment',
  );
  expect(() => requireArchiveParts(configOf({}), false)).not.toThrow();
});

test('clicks must stay in Kafka for long enough to be archived', () => {
  const withRetention = (query: string) =>
    configOf({ TERSE_ARCHIVE: 's3://terse', TERSE_STREAM: `kafka://127.0.0.1:9092/clicks${query}` });
  expect(() => requireArchiveParts(withRetention(''), true)).not.toThrow();
  expect(() => requireArchiveParts(withRetention('?retentionHours=72'), true)).not.toThrow();
  expect(() => requireArchiveParts(withRetention('?retentionHours=71'), true)).toThrow(
    'use retentionHours=72 or more',
  );
});

test('keys are both or none, with a token where there is one', () => {
  const both = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };
  expect(awsKeysOfProcess(both)).toEqual({ accessKeyId: 'id', secretAccessKey: 'secret' });
  expect(awsKeysOfProcess({ ...both, AWS_SESSION_TOKEN: 'token' })?.sessionToken).toBe('token');
  expect(awsKeysOfProcess({ ...both, AWS_SECRET_ACCESS_KEY: '' })).toBeUndefined();
});
