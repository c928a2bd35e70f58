/**
 * Clicks through Kafka are archived and can be counted again after Kafka has lost them, whichever process is killed.
 */
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { archivedDays, openDay } from '../../src/clicks/archive.ts';
import { readKafkaManifest } from '../../src/clicks/archive-manifest.ts';
import { sampleBatch } from '../../src/clicks/batch-samples.ts';
import { encodeFrame } from '../../src/clicks/frame.ts';
import { pairName } from '../../src/clicks/log.ts';
import { openArchive } from '../../src/clicks/open-archive.ts';
import { PartitionNumbers, partsOf } from '../../src/clicks/partition-numbers.ts';
import { openSqliteWarehouse } from '../../src/clicks/warehouses/sqlite/warehouse.ts';
import { type KafkaAddress, parseKafkaAddress } from '../../src/engines/kafka/address.ts';
import { openGroupProgress } from '../../src/engines/kafka/offsets.ts';
import { openKafkaReader } from '../../src/engines/kafka/reader.ts';
import { ensureTopic } from '../../src/engines/kafka/topics.ts';
import { runTerse } from '../kit/command-line.ts';
import { sendDated } from '../kit/dated-messages.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../kit/engines/kafka.ts';
import { sharedS3 } from '../kit/engines/s3.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

const dayMs = 24 * 60 * 60_000;
const partitions = 2;
const clicks = 40;
const [junkMessages, junkBytes] = [40, 900_000];

describeWithEngine('s3', 'the archive', () => {
  describeWithEngine('kafka', 'of clicks in Kafka', () => {
    test('is begun by a server that is killed, finished by another, and counted when Kafka has lost the day', async () => {
      const folders = [temporaryFolder(), temporaryFolder()];
      try {
        await archiveAndCount(folders);
      } finally {
        for (const folder of folders) rmSync(folder, { recursive: true, force: true });
      }
    });
  });
});

async function archiveAndCount(folders: readonly string[]): Promise<void> {
  const storage = await sharedS3();
  const stream = (await sharedKafka()).freshTopicUrl({ partitions });
  const address = parseKafkaAddress(stream);
  const at = Date.now() - 2 * dayMs;
  const day = new Date(at).toISOString().slice(0, 10);
  await ensureTopic(address, { topic: address.topic, partitions }, systemClock);
  await writeOld(address, at);
  await writeJunk(address, at);

  const env = {
    TERSE_STREAM: stream,
    TERSE_ARCHIVE: storage.freshAddress(),
    AWS_ACCESS_KEY_ID: storage.keys.accessKeyId,
    AWS_SECRET_ACCESS_KEY: storage.keys.secretAccessKey,
    TERSE_LOG_LEVEL: 'silent',
  };
  const archive = openArchive({ address: env.TERSE_ARCHIVE, keys: storage.keys, stream }, systemClock);
  const partsPut = async () =>
    (await archive.list('clicks/')).flatMap(key => /^clicks\/.+\/([0-9a-f]{64})$/.exec(key)?.[1] ?? []);
  const killed = await startTerseProcess({ dataFolder: folders[1]!, env });
  await until('the first part', async () => (await partsPut()).length !== 0);
  await killed.kill();
  const begun = await partsPut();
  expect(await archivedDays(archive)).toEqual([]);

  const dataFolder = folders[0]!;
  const server = await startTerseProcess({ dataFolder, env });
  // Days without clicks are archived, too, once they are over.
  const daysOver = (Date.parse(openDay(Date.now())) - Date.parse(day)) / dayMs;
  await until('all days to be archived', async () => (await archivedDays(archive)).length >= daysOver);
  await server.stop();
  const manifest = await readKafkaManifest(archive, address.topic, day);
  const parts = manifest!.partitions.flatMap(each => each.parts.map(({ sha256 }) => sha256));
  // The progress of the first process is not repeated, except for at most one part whose progress was not written.
  expect(begun.filter(part => !parts.includes(part)).length).toBeLessThanOrEqual(1);
  expect(parts.length).toBeGreaterThan(begun.length);

  await forgetAll(address);
  for (const gone of ['stats.db', 'stats.db-wal', 'stats.db-shm'])
    rmSync(join(dataFolder, gone), { force: true });
  const local = { env: { ...env, TERSE_DATA: dataFolder } };
  expect((await runTerse(['archive', 'list'], local)).stdout).toStartWith(`${day}\n`);
  const restored = await runTerse(['archive', 'restore', '--day', day], local);
  expect(restored).toMatchObject({ exitCode: 0, stderr: '' });
  expect(restored.stdout).toStartWith(`${day}: ${clicks} clicks read from the archive\n`);
  expect(restored.stdout).toEndWith('everything since then is recounted\n');
  const warehouse = openSqliteWarehouse(join(dataFolder, 'stats.db'));
  expectSafe((await warehouse.total({ kind: 'link', code: 'abc', ownerId: 'acc_1' })).clicks).toBe(clicks);
  await warehouse.close();

  expect(await runTerse(['archive', 'restore', '--day', '2001-01-01'], local)).toMatchObject({
    exitCode: 1,
    stderr: 'terse: 2001-01-01 is not in the archive\n',
  });
}

async function writeOld(address: KafkaAddress, at: number): Promise<void> {
  const batch = sampleBatch(
    1,
    Array.from({ length: clicks }, () => ({ at, code: 'abc' })),
  );
  const numbered = new PartitionNumbers(new Float64Array(partitions)).number(batch);
  await sendDated(
    address,
    partsOf(numbered).map(({ partition, batch: part }) => ({
      partition,
      at,
      value: encodeFrame(pairName('before', partition), part),
    })),
  );
}

/** Messages of maximum size that are not clicks, so that archiving the day takes a while. */
async function writeJunk(address: KafkaAddress, at: number): Promise<void> {
  const messages = Array.from({ length: junkMessages }, (_, index) => ({
    partition: 0,
    at: at + index,
    value: new Uint8Array(junkBytes).fill(index),
  }));
  await sendDated(address, messages);
}

/** Deletes all messages, as Kafka does after their retention. */
async function forgetAll(address: KafkaAddress): Promise<void> {
  const reader = openKafkaReader(address, { clock: systemClock });
  const progress = openGroupProgress(address, { clock: systemClock });
  await progress.deleteBefore(await reader.offsets(address.topic, 'latest'));
  await Promise.all([progress.close(), reader.close()]);
}
