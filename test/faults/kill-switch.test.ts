/**
 * A link that was killed must stop leading anywhere, in every process, at once: whoever killed it and however, with
 * visitors reading it at that very moment, and also when the word about it is lost.
 */
import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbedded } from '../../src/app/embedded.ts';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { LinkStore } from '../../src/links/store.ts';
import { insertItem, sampleLink } from '../../src/links/store-samples.ts';
import { createSqliteStore } from '../../src/links/stores/sqlite/store.ts';
import { ChangeFollower } from '../../src/resolve/change-follower.ts';
import { Horizon } from '../../src/resolve/horizon.ts';
import { Resolver } from '../../src/resolve/resolver.ts';
import { callerOf } from '../kit/client.ts';
import { inParallel } from '../kit/in-parallel.ts';
import { kill, killKinds, leadsThere, makeVictims, type Victim } from '../kit/kills.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';

const processCount = 4;
const killCount = scaled(60, 1_000);
const visitorsPerProcess = 2;
/** What is promised, and the time after which something is wrong rather than slow. */
const promisedMs = 100;
const hopelessMs = 2_000;
/** An entry's life by default, and the same again for a machine with other things to do. */
const deafMaxMs = 4_000;

async function withProcesses(
  options: { readonly isDeaf: boolean },
  work: (processes: readonly TerseProcess[]) => Promise<void>,
): Promise<void> {
  const dataFolder = temporaryFolder();
  const deaf = (): string[] => [process.execPath, join(import.meta.dir, '../kit/deaf-terse.ts')];
  const processes = await Promise.all(
    Array.from({ length: processCount }, () =>
      startTerseProcess({ dataFolder, ...(options.isDeaf && { wrap: deaf }) }),
    ),
  );
  try {
    await work(processes);
  } finally {
    await Promise.all(processes.map(terse => terse.stop()));
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

/** From the answer to the kill until no process leads there any more; visitors go on asking all the while. */
async function killAndWatch(
  processes: readonly TerseProcess[],
  victim: Victim,
  index: number,
  maxMs: number,
): Promise<number> {
  for (const { url } of processes) expect(await leadsThere(url, victim)).toBe(true);
  let killedMs = Number.POSITIVE_INFINITY;
  const visitors = processes.flatMap(({ url }) =>
    Array.from({ length: visitorsPerProcess }, async () => {
      for (;;) {
        const leads = await leadsThere(url, victim);
        const sinceMs = systemClock.monotonicMs() - killedMs;
        if (!leads || sinceMs > maxMs) return leads ? Number.POSITIVE_INFINITY : Math.max(0, sinceMs);
      }
    }),
  );
  const call = callerOf(processes[index % processCount]!.url);
  await kill(call, killKinds[index % killKinds.length]!, victim);
  killedMs = systemClock.monotonicMs();
  const slowestMs = Math.max(...(await Promise.all(visitors)));
  // What is dead stays dead: nothing that was being read brings it back.
  for (const { url } of processes) expect(await leadsThere(url, victim)).toBe(false);
  return slowestMs;
}

test(
  'a kill is obeyed by four processes under load, whoever kills and however, and nothing revives',
  async () => {
    await withProcesses({ isDeaf: false }, async processes => {
      const victims = await makeVictims(callerOf(processes[0]!.url), killCount);
      const takenMs: number[] = [];
      for (const [index, victim] of victims.entries())
        takenMs.push(await killAndWatch(processes, victim, index, hopelessMs));
      expect(takenMs.filter(each => each > hopelessMs)).toEqual([]);
      const sorted = takenMs.toSorted((a, b) => a - b);
      const at = (share: number): string => sorted[Math.ceil(sorted.length * share) - 1]!.toFixed(0);
      const late = sorted.filter(each => each > promisedMs).length;
      report(`${killCount} kills: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms, ${late} late`);
    });
  },
  heavyTestMaxMs,
);

test(
  'with every message lost, a kill is obeyed as soon as what is remembered has to be read again',
  async () => {
    await withProcesses({ isDeaf: true }, async processes => {
      const victims = await makeVictims(callerOf(processes[0]!.url), scaled(10, 100));
      const takenMs: number[] = [];
      await inParallel(victims.length, 10, async index => {
        takenMs.push(await killAndWatch(processes, victims[index]!, index, deafMaxMs));
      });
      expect(takenMs.filter(each => each > deafMaxMs)).toEqual([]);
      // Else the fault was not there.
      expect(Math.max(...takenMs)).toBeGreaterThan(promisedMs);
      report(`${takenMs.length} kills that nobody heard of: max ${Math.max(...takenMs).toFixed(0)} ms`);
    });
  },
  heavyTestMaxMs,
);

describe('a store read that is in flight at the moment of the kill', () => {
  /** Two processes of one data folder; what the second reads can be held up after it was read. */
  async function startTwo() {
    const folder = temporaryFolder();
    const open = async (): Promise<LinkStore> => {
      const { reader, writer } = await openEmbedded(folder);
      return createSqliteStore(reader, writer);
    };
    const [here, there] = [await open(), await open()];
    const gates: Promise<void>[] = [];
    const heard = new Map<string, () => void>();
    const slow: LinkStore = {
      ...there,
      async find(code) {
        const found = await there.find(code);
        await gates.shift();
        return found;
      },
    };
    const horizon = new Horizon(() => undefined);
    const follower = new ChangeFollower({
      store: slow,
      clock: systemClock,
      horizon,
      codeLength: undefined,
      onChange(code) {
        resolver.invalidate(code);
        heard.get(code)?.();
      },
      onGap: () => resolver.flush(),
      onError(error) {
        throw error;
      },
    });
    const resolver: Resolver = new Resolver({
      store: slow,
      horizon,
      follower,
      isFollowable: () => true,
      clock: systemClock,
      random: seededRandom(1),
      entriesMax: 100,
      ttlMs: 2_000,
      negativeTtlMs: 1_000,
    });
    await follower.start();
    return {
      here,
      resolver,
      holdNextRead(): () => void {
        const { promise, resolve } = Promise.withResolvers<void>();
        gates.push(promise);
        return resolve;
      },
      hearsOf: (code: string) => new Promise<void>(resolve => heard.set(code, resolve)),
      async stop() {
        follower.stop();
        await Promise.all([here.close(), there.close()]);
        rmSync(folder, { recursive: true });
      },
    };
  }

  test.each(['disabled', 'blocked', 'quarantined', 'deleted'] as const)(
    'neither answers with the old record nor brings it back (%s)',
    async status => {
      const { here, resolver, holdNextRead, hearsOf, stop } = await startTwo();
      try {
        await here.insert([insertItem(sampleLink('victim'))]);
        const release = holdNextRead();
        const early = resolver.resolve('victim');
        const word = hearsOf('victim');
        await here.replace(sampleLink('victim', { status, updatedAt: systemClock.now(), version: 2 }));
        await word;
        release();
        expect((await early)?.status).toBe(status);
        expect(resolver.recall('victim')).toMatchObject({ status, version: 2 });
      } finally {
        await stop();
      }
    },
  );

  test('is of no use either when it ends long after, and visitors came meanwhile', async () => {
    const { here, resolver, holdNextRead, hearsOf, stop } = await startTwo();
    try {
      await here.insert([insertItem(sampleLink('victim'))]);
      const release = holdNextRead();
      const early = resolver.resolve('victim');
      const word = hearsOf('victim');
      await here.replace(
        sampleLink('victim', { status: 'blocked', updatedAt: systemClock.now(), version: 2 }),
      );
      await word;
      expect((await resolver.resolve('victim'))?.status).toBe('blocked');
      release();
      await early;
      expect(resolver.recall('victim')).toMatchObject({ status: 'blocked' });
    } finally {
      await stop();
    }
  });
});
