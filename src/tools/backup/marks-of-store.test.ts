/** The same for every engine: a lease taken after the marks were raised has ids that were never issued before. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedDynamo } from '../../../test/kit/engines/dynamodb.ts';
import { sharedPostgres } from '../../../test/kit/engines/postgres.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { loadConfig } from '../../config/config.ts';
import { openStores } from '../../stores/stores.ts';
import { createLog } from '../../telemetry/log.ts';
import { temporary } from './fake-installation.ts';
import { runMarks } from './run.ts';

/** A commit may take long on a busy disk. */
setDefaultTimeout(60_000);

const data = temporary();
afterAll(() => rmSync(data, { recursive: true, force: true }));

const log = createLog({ level: 'silent', clock: systemClock, write: () => {} });
const world = { clock: systemClock, random: systemRandom, log };
const space = 62 ** 7;

async function raiseBetweenLeases(links: string): Promise<void> {
  const config = loadConfig({ argv: ['--links', links, '--data', data], env: {}, readFile: () => '{}' });
  const { links: store } = await openStores(config, world);
  try {
    await store.installationSecret(systemRandom.bytes(32));
    expect(await store.leaseRange(7, 1_000, space)).toMatchObject({ from: 0, to: 1_000 });
    expect(await runMarks(config, undefined)).toEqual([{ length: 7, first: 0, before: 1_000, after: 1_000 }]);
    expect(await runMarks(config, 5_000_000)).toEqual([
      { length: 7, first: 0, before: 1_000, after: 5_001_000 },
    ]);
    expect(await store.leaseRange(7, 1_000, space)).toMatchObject({ from: 5_001_000, to: 5_002_000 });
    expect(runMarks(config, space)).rejects.toThrow('choose a smaller number');
    expect(await store.spans(7)).toEqual([{ first: 0, mark: 5_002_000 }]);
  } finally {
    await store.close();
  }
}

test('marks are raised in SQLite, while a server uses it', () => raiseBetweenLeases('sqlite'));

test('a folder without an installation is rejected, and so are links in memory', () => {
  const configOf = (...argv: string[]) => loadConfig({ argv, env: {}, readFile: () => '{}' });
  const nowhere = configOf('--data', `${data}/nowhere`);
  expect(runMarks(nowhere, 1)).rejects.toThrow('there is no Terse installation in');
  expect(runMarks(configOf('--links', 'memory'), 1)).rejects.toThrow(
    'links in memory have no high-water marks',
  );
});

describeWithEngine('postgres', 'marks in Postgres', () => {
  test('are raised while servers use it', async () => {
    await raiseBetweenLeases(await (await sharedPostgres()).freshDatabase());
  });
});

describeWithEngine('dynamodb', 'marks in DynamoDB', () => {
  test('are raised while servers use it', async () => {
    await raiseBetweenLeases((await sharedDynamo()).freshTableUrl());
  });
});
