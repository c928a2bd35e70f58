import { expect, test } from 'bun:test';
import { ConfigError } from './config-sources.ts';
import { load } from './fake-surroundings.ts';
import { requireQueueParts } from './queue-requirements.ts';

const whole = {
  TERSE_WRITES: 'queued',
  TERSE_STREAM: 'kafka://h:9092/clicks',
  TERSE_CACHE: 'redis://h:6379',
} as const;

test('queued writes start with Kafka and Redis, direct ones with anything', () => {
  expect(() => requireQueueParts(load({ env: whole }))).not.toThrow();
  expect(() => requireQueueParts(load({ env: { TERSE_EXPIRY_GRACE_DAYS: '0' } }))).not.toThrow();
  expect(() => requireQueueParts(load({ env: { TERSE_CODE_STRATEGY: 'random' } }))).not.toThrow();
  expect(() => requireQueueParts(load({ env: { TERSE_REGION: '2/2' } }))).not.toThrow();
});

test.each([
  [{ TERSE_STREAM: 'embedded' }, 'TERSE_WRITES=queued needs TERSE_STREAM=kafka://…'],
  [{ TERSE_CACHE: 'none' }, 'TERSE_WRITES=queued needs TERSE_STREAM=kafka://…'],
  [{ TERSE_CODE_STRATEGY: 'hash' }, 'TERSE_CODE_STRATEGY=hash is not allowed with queued writes'],
  [{ TERSE_EXPIRY_GRACE_DAYS: '6' }, 'TERSE_EXPIRY_GRACE_DAYS=6 is not allowed with queued writes'],
  [{ TERSE_REGION: '2/2' }, 'TERSE_REGION=2/2 is not allowed with queued writes'],
])('with %j they do not start, and one line says why', (change, line) => {
  const attempt = (): void => requireQueueParts(load({ env: { ...whole, ...change } }));
  expect(attempt).toThrow(ConfigError);
  expect(attempt).toThrow(line);
  try {
    attempt();
  } catch (error) {
    expect((error as Error).message).not.toContain('\n');
  }
});
