/** Days of a real topic go into an archive, each click once, despite any interruption; and are counted from there. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { until } from '../../../test/kit/until.ts';
import { ManualClock, systemClock } from '../../base/clock.ts';
import { KafkaFenced } from '../../engines/kafka/failures.ts';
import { type KafkaGroup, openKafkaGroup } from '../../engines/kafka/group.ts';
import type { KafkaReader } from '../../engines/kafka/reader.ts';
import { ensureTopic } from '../../engines/kafka/topics.ts';
import { type Archive, Archiver, ArchiveUnavailable, archivedDays, dayOf, manifestKey } from '../archive.ts';
import { type KafkaManifest, readKafkaManifest } from '../archive-manifest.ts';
import { createMemoryArchive, type MemoryArchive } from '../archives/fake-memory.ts';
import { everythingIn, link } from '../fake-warehouse-truth.ts';
import type { ClickLog } from '../log.ts';
import { recountLog } from '../replay.ts';
import type { Scope, Warehouse } from '../warehouse.ts';
import { openWorld } from '../warehouses/clickhouse/fake-clickhouse-world.ts';
import { openSqliteWarehouse } from '../warehouses/sqlite/warehouse.ts';
import { ArchivedTopic, dayMs } from './fake-archived-topic.ts';
import { createKafkaLog } from './kafka.ts';
import { KafkaArchivable } from './kafka-archive.ts';
import { type ArchivedLog, openArchivedLog } from './kafka-archived.ts';

/** Recent enough for Kafka to keep it by itself. */
const first = Math.floor(Date.now() / dayMs) * dayMs - 3 * dayMs;
const [day, secondDay, thirdDay] = [0, 1, 2].map(number => dayOf(first + number * dayMs)) as [
  string,
  string,
  string,
];
const noon = dayMs / 2;

describeWithEngine('kafka', 'the archive of a topic', () => {
  let topic: ArchivedTopic;
  let archive: MemoryArchive;
  let clock: ManualClock;
  let problems: string[];
  beforeEach(async () => {
    topic = await ArchivedTopic.make();
    archive = createMemoryArchive();
    clock = new ManualClock(first + 2 * dayMs + noon);
    problems = [];
    await topic.write(first + noon, 90);
    await topic.write(first + dayMs + noon, 60);
    await topic.write(first + 2 * dayMs + 1, 30);
  });
  afterEach(() => topic.close());

  /** A group with no other member. */
  const alone = (): KafkaGroup => {
    const term = {
      generation: 1,
      partitions: [0],
      isCurrent: true,
      committed: async () => new Map(),
      commit: async () => {},
    };
    return { term: async () => term, close: async () => {} };
  };
  const archiver = (into: Archive = archive, group = alone(), partBytesMax = 2_000) =>
    new Archiver(
      new KafkaArchivable({
        archive: into,
        reader: topic.reader,
        group,
        topic: topic.topic,
        clock: { ...systemClock, now: () => clock.now() },
        partBytesMax,
        onProblem,
      }),
      onProblem,
    );
  const onProblem = (what: string, error: unknown) =>
    void problems.push(`${what}: ${error instanceof Error ? error.message : error}`);
  const manifestOf = async (of: string): Promise<KafkaManifest> =>
    (await readKafkaManifest(archive, topic.topic, of))!;
  const clicksOf = async (of: string) =>
    (await manifestOf(of)).partitions.reduce((sum, { clicks }) => sum + clicks, 0);
  const open = (from = day) => openArchivedLog({ ...topic, archive }, from);

  test('has each day that is over, with all its clicks, and none that is not', async () => {
    const working = archiver();
    await working.round();
    expect(problems).toEqual([]);
    expect(await archivedDays(archive)).toEqual([day, secondDay]);
    expect([await clicksOf(day), await clicksOf(secondDay)]).toEqual([90, 60]);
    expect(working.figures()).toEqual({
      archived: 2,
      lost: 0,
      waiting: 0,
      lastDayAt: Date.parse(secondDay),
      failures: 0,
    });
    // An hour after midnight, for writes that began before it.
    clock.advance(dayMs / 2 + 59 * 60_000);
    await working.round();
    expect(await archivedDays(archive)).toHaveLength(2);
    clock.advance(60_000);
    await working.round();
    expect(await clicksOf(thirdDay)).toBe(30);
  });

  test('begins each day where the day before ended, also with what came in late', async () => {
    await archiver().round();
    // By a machine whose clock is a day behind.
    await topic.write(first + dayMs + noon, 9);
    clock.advance(dayMs);
    await archiver().round();
    const [before, after] = [await manifestOf(secondDay), await manifestOf(thirdDay)];
    expect(after.partitions.map(({ from }) => from)).toEqual(before.partitions.map(({ to }) => to));
    expect(await clicksOf(thirdDay)).toBe(39);
  });

  test('interrupted anywhere has no half day, and the process that continues repeats one part at the most', async () => {
    let puts = 0;
    await archiver({
      ...archive,
      put: async (key, bytes) => {
        puts += 1;
        await archive.put(key, bytes);
      },
    }).round();
    expect(puts).toBeGreaterThan(10);
    const whole = await manifestOf(day);
    for (let failing = 0; failing < puts; failing += 3) {
      archive.objects.clear();
      const parts: string[] = [];
      let left = failing;
      const failingOnce: Archive = {
        ...archive,
        async put(key, bytes) {
          left -= 1;
          if (left === -1) throw new ArchiveUnavailable('cut off');
          if (key.startsWith('clicks/') && !key.endsWith('.json')) parts.push(key);
          await archive.put(key, bytes);
        },
      };
      await archiver(failingOnce).round();
      for (const archived of await archivedDays(archive)) await manifestOf(archived);
      await archiver(failingOnce).round();
      expect(await manifestOf(day)).toEqual(whole);
      expect(await clicksOf(secondDay)).toBe(60);
      expect(parts.length - new Set(parts).size).toBeLessThanOrEqual(1);
    }
  });

  test('notices storage that keeps something else than it was given', async () => {
    const forgetful: Archive = {
      ...archive,
      put: (key, bytes) => archive.put(key, key.endsWith('.json') ? bytes : bytes.slice(1)),
    };
    const working = archiver(forgetful);
    await working.round();
    expect(await archivedDays(archive)).toEqual([]);
    expect(problems).toEqual([
      `clicks of ${day} cannot be archived: a part of ${day} in the archive is damaged`,
    ]);
    expect(working.figures()).toMatchObject({ failures: 1, waiting: 2 });
  });

  test('reports what was lost before it could be archived, and refuses to be counted over it', async () => {
    await archiver().round();
    await topic.forgetBefore(first + 2 * dayMs + 2);
    clock.advance(dayMs);
    const working = archiver();
    await working.round();
    expect(problems.at(-1)).toMatch(`clicks of ${thirdDay} were gone before they could be archived: `);
    expect(working.figures()).toMatchObject({ archived: 3, lost: 1 });
    await expect(open()).rejects.toThrow('counting again would lose their counts');
  });

  test('has no day of a process that the brokers no longer accept as the archiver, and that is no failure', async () => {
    const term = await alone().term();
    const fenced = async () => {
      throw new KafkaFenced('another generation');
    };
    const group = { term: async () => ({ ...term, commit: fenced }), close: async () => {} };
    const working = archiver(archive, group);
    await working.round();
    expect(await archivedDays(archive)).toEqual([]);
    expect(working.figures()).toMatchObject({ waiting: 2, failures: 0 });
    const over = { term: async () => ({ ...term, isCurrent: false }), close: async () => {} };
    archive.objects.clear();
    await archiver(archive, over).round();
    expect([archive.objects.size, problems]).toEqual([0, []]);
  });

  test('keeps what Kafka still had of its first day, and is counted from the day after it', async () => {
    await topic.forgetBefore(first + noon + 2);
    await archiver().round();
    expect(problems).toEqual([]);
    expect(await clicksOf(day)).toBeGreaterThan(0);
    await expect(open()).rejects.toThrow(`the archive has only a part of ${day}`);
    expect((await open(secondDay)).days).toEqual([{ day: secondDay, clicks: 60 }]);
  });

  test('is rejected where the topic was recreated', async () => {
    await archiver().round();
    const manifest = await manifestOf(secondDay);
    const partitions = manifest.partitions.map(each => ({ ...each, from: 1_000, to: 1_000, parts: [] }));
    await archive.put(
      manifestKey(secondDay),
      new TextEncoder().encode(JSON.stringify({ ...manifest, partitions })),
    );
    clock.advance(dayMs);
    await archiver().round();
    expect(problems[0]).toMatch('a topic that was recreated needs another prefix');
    expect(await archivedDays(archive)).toHaveLength(2);
  });

  test('is the work of one process at a time, and of the next when that one is dead', async () => {
    const archivers = { ...topic.address, topic: `${topic.topic}-one`, group: `${topic.topic}-archive` };
    await ensureTopic(archivers, { topic: archivers.topic, partitions: 1 }, systemClock);
    const groups = [1, 2].map(() => openKafkaGroup(archivers, { clock: systemClock, sessionMaxMs: 6_000 }));
    const owners = async () => {
      const terms = await Promise.all(groups.map(group => group.term().catch(() => undefined)));
      return terms.map(term => term?.partitions.includes(0) ?? false);
    };
    await until(
      'one owner',
      async () => (await owners()).filter(Boolean).length === 1 && (await settled(groups)),
    );
    const owner = (await owners()).indexOf(true);
    await archiver(archive, groups[1 - owner]).round();
    expect(await archivedDays(archive)).toEqual([]);
    await groups[owner]!.close();
    // Only the one that is left: asking the closed one would let it join again.
    await until('the next owner', async () => {
      const term = await groups[1 - owner]!.term().catch(() => undefined);
      return term?.partitions.includes(0) ?? false;
    });
    await archiver(archive, groups[1 - owner]).round();
    expect(await archivedDays(archive)).toEqual([day, secondDay]);
    await groups[1 - owner]!.close();
  });

  describe('counted again', () => {
    const scopes: Scope[] = [
      link('link0'),
      { kind: 'owner', ownerId: 'acc_1' },
      { kind: 'tag', ownerId: 'acc_2', tag: 'a' },
    ];
    const [from, to] = [first - dayMs, first + 10 * dayMs];
    const everything = async (warehouse: Warehouse) => ({
      scopes: await everythingIn(warehouse, scopes, { from, to }),
      ledger: await warehouse.ledger(from, to),
      producers: await warehouse.producers(),
      positions: await warehouse.positions(),
    });
    /** Straight from Kafka, as long as it has everything. */
    const countedAtOnce = async () => {
      const warehouse = openSqliteWarehouse(':memory:');
      await recountLog(warehouse, { log: topic.log, keptFrom: undefined, producers: [], clock: systemClock });
      const counts = await everything(warehouse);
      await warehouse.close();
      return counts;
    };
    const countFrom = async (warehouse: Warehouse, log: ArchivedLog, firstDay = day) => {
      const producers = (await warehouse.producers()).map(({ producer }) => producer);
      await recountLog(warehouse, { log, keptFrom: Date.parse(firstDay), producers, clock: systemClock });
    };
    const countArchived = async (warehouse: Warehouse, firstDay = day) =>
      countFrom(warehouse, await open(firstDay), firstDay);

    async function comesToTheSame(warehouse: Warehouse): Promise<void> {
      const expected = await countedAtOnce();
      await archiver().round();
      await topic.forgetBefore(first + 2 * dayMs);
      await countArchived(warehouse);
      expect(await everything(warehouse)).toEqual(expected);
      // Counting what comes next continues in Kafka, and a second time changes nothing.
      await countArchived(warehouse);
      expect(await everything(warehouse)).toEqual(expected);
    }

    test('in SQLite it comes to the same as what Kafka had', async () => {
      const warehouse = openSqliteWarehouse(':memory:');
      await comesToTheSame(warehouse);
      await warehouse.close();
    });

    describeWithEngine('clickhouse', 'in ClickHouse', () => {
      test('it comes to the same as what Kafka had', async () => {
        await comesToTheSame((await openWorld()).warehouse);
      });
    });

    test('from a later day on it leaves the days before as they are', async () => {
      const warehouse = openSqliteWarehouse(':memory:');
      await recountLog(warehouse, { log: topic.log, keptFrom: undefined, producers: [], clock: systemClock });
      const expected = await everything(warehouse);
      await archiver().round();
      await topic.forgetBefore(first + 2 * dayMs);
      await countArchived(warehouse, secondDay);
      const counted = await everything(warehouse);
      expect(counted.scopes).toEqual(expected.scopes);
      expect(counted.positions).toEqual(expected.positions);
      await warehouse.close();
    });

    test('a damaged or missing part stops it, and the counts stay as they were', async () => {
      const warehouse = openSqliteWarehouse(':memory:');
      await archiver().round();
      await countArchived(warehouse);
      const counts = await everything(warehouse);
      const key = [...archive.objects.keys()].find(each => /^clicks\/.*\/[0-9a-f]{64}$/.test(each))!;
      archive.objects.set(key, Uint8Array.of(1, 2, 3));
      await expect(countArchived(warehouse)).rejects.toThrow('in the archive is damaged');
      archive.objects.delete(key);
      await expect(countArchived(warehouse)).rejects.toThrow('is missing in the archive');
      expect(await everything(warehouse)).toEqual(counts);
      await warehouse.close();
    });

    test('a topic that was recreated is rejected, and the counts stay as they were', async () => {
      const warehouse = openSqliteWarehouse(':memory:');
      await archiver().round();
      await countArchived(warehouse);
      const counts = await everything(warehouse);
      await topic.makeAgain();
      await expect(countArchived(warehouse)).rejects.toThrow('the topic was recreated or has lost clicks');
      expect(await everything(warehouse)).toEqual(counts);
      await warehouse.close();
    });

    test('a topic of which a partition does not answer is rejected', async () => {
      await archiver().round();
      const { reader } = topic;
      for (const silent of ['earliest', 'latest']) {
        const offsets: KafkaReader['offsets'] = async (name, at) => {
          const found = await reader.offsets(name, at);
          if (at === silent) found.delete(1);
          return found;
        };
        const unled = { ...reader, offsets };
        const log = createKafkaLog({
          reader: unled,
          topic: topic.topic,
          partitions: 3,
          retentionMs: dayMs,
          clock: systemClock,
        });
        const lacking = { ...topic, reader: unled, log, archive };
        await expect(openArchivedLog(lacking, day)).rejects.toThrow('have no leader');
      }
    });

    test('a partition that gives nothing for a moment is read to its end all the same', async () => {
      const expected = await countedAtOnce();
      await archiver().round();
      const asked = new Set<string>();
      const read: ClickLog['read'] = async (offsets, bounds) => {
        const place = [...offsets].join();
        if (asked.has(place)) return topic.log.read(offsets, bounds);
        asked.add(place);
        return new Map();
      };
      const faltering = { ...topic, log: { ...topic.log, read }, archive };
      const warehouse = openSqliteWarehouse(':memory:');
      await countFrom(warehouse, await openArchivedLog(faltering, day));
      expect(await everything(warehouse)).toEqual(expected);
      await warehouse.close();
    });

    test('a gap between days, or between the archive and Kafka, is rejected', async () => {
      await archiver().round();
      await expect(open('2001-01-01')).rejects.toThrow('2001-01-01 is not in the archive');
      clock.advance(dayMs);
      await archiver().round();
      archive.objects.delete(manifestKey(secondDay));
      await expect(open()).rejects.toThrow(`the archive has no day before ${thirdDay}`);
      archive.objects.delete(manifestKey(thirdDay));
      await topic.forgetBefore(first + 2 * dayMs);
      await expect(open()).rejects.toThrow(`what was written after ${day} is neither in the archive nor`);
    });
  });
});

/** Whether no member is about to join any more. */
async function settled(groups: readonly KafkaGroup[]): Promise<boolean> {
  const generations = await Promise.all(
    groups.map(group =>
      group.term().then(
        ({ generation }) => generation,
        () => -1,
      ),
    ),
  );
  return generations[0] !== -1 && new Set(generations).size === 1;
}
