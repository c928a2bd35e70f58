/** Clicks are archived and restored, with the server and the command line as an operator runs them. */
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ManualClock } from '../../src/base/clock.ts';
import { sampleBatch } from '../../src/clicks/batch-samples.ts';
import { createEmbeddedLog } from '../../src/clicks/logs/embedded.ts';
import { isArchived } from '../../src/clicks/logs/embedded-archive.ts';
import { openSqliteWarehouse } from '../../src/clicks/warehouses/sqlite/warehouse.ts';
import { runTerse } from '../kit/command-line.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { type S3Engine, startS3 } from '../kit/engines/s3.ts';
import { adminKey, startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

const dayMs = 24 * 60 * 60_000;

describeWithEngine(
  's3',
  'the archive',
  () => {
    test('a day survives the loss of log and counts: it is archived, lost here, restored and counted', async () => {
      const engine = await startS3();
      const dataFolder = temporaryFolder();
      try {
        await archiveAndRestore(engine, dataFolder);
      } finally {
        await engine.stop();
        rmSync(dataFolder, { recursive: true, force: true });
      }
    });
  },
  { own: true },
);

async function archiveAndRestore(engine: S3Engine, dataFolder: string): Promise<void> {
  const logFolder = join(dataFolder, 'clicks');
  const clock = new ManualClock(Date.now() - 2 * dayMs);
  const day = new Date(clock.now()).toISOString().slice(0, 10);
  const stream = createEmbeddedLog({ folder: logFolder, producer: 'before', clock });
  await stream.append(
    sampleBatch(
      1,
      Array.from({ length: 40 }, () => ({ at: clock.now(), code: 'abc' })),
    ),
  );
  await stream.close();

  const env = {
    TERSE_ARCHIVE: engine.freshAddress(),
    AWS_ACCESS_KEY_ID: engine.keys.accessKeyId,
    AWS_SECRET_ACCESS_KEY: engine.keys.secretAccessKey,
    TERSE_LOG_LEVEL: 'silent',
  };
  const first = await startTerseProcess({ dataFolder, env });
  await until('the day to be archived', () => isArchived(logFolder, day));
  const metrics = async () => (await fetch(`${first.url}/metrics`)).text();
  await until('the metric of archived days', async () =>
    /^terse_archive_days\{state="archived"\} 1$/m.test(await metrics()),
  );
  await first.stop();

  for (const gone of ['clicks', 'stats.db', 'stats.db-wal', 'stats.db-shm'])
    rmSync(join(dataFolder, gone), { recursive: true, force: true });
  const local = { env: { ...env, TERSE_DATA: dataFolder } };
  expect(await runTerse(['archive', 'list'], local)).toMatchObject({ exitCode: 0, stdout: `${day}\n` });
  expect(await runTerse(['archive', 'restore', '--day', day], local)).toMatchObject({
    exitCode: 0,
    stdout: `${day}: 1 of 1 logs restored, 40 clicks\ncount them with: terse reconcile --repair\n`,
  });

  const second = await startTerseProcess({ dataFolder, env });
  const answer = await fetch(`${second.url}/api/v1/reconcile`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
  });
  expect(answer.status).toBe(200);
  await second.stop();
  const warehouse = openSqliteWarehouse(join(dataFolder, 'stats.db'));
  expect((await warehouse.total({ kind: 'link', code: 'abc', ownerId: 'acc_1' })).clicks).toBe(40);
  await warehouse.close();

  await engine.kill();
  expect(await runTerse(['archive'], local)).toMatchObject({
    exitCode: 1,
    stderr: 'terse: the storage is down: ConnectionRefused\n',
  });
}
