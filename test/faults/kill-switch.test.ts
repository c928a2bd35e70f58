/**
 * A killed link must stop redirecting in every process at once: in whatever way it was killed, while visitors read it,
 * and also when the change message is lost.
 */
import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { inParallel } from '../../src/base/in-parallel.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { LinkStore } from '../../src/links/store.ts';
import { insertItem, sampleLink } from '../../src/links/store-samples.ts';
import { createSqliteStore } from '../../src/links/stores/sqlite/store.ts';
import { ChangeFollower } from '../../src/resolve/change-follower.ts';
import { Horizon } from '../../src/resolve/horizon.ts';
import { Resolver } from '../../src/resolve/resolver.ts';
import { openEmbedded } from '../../src/stores/embedded.ts';
import { callerOf } from '../kit/client.ts';
import { killAndWatch, killPromisedMs, makeVictims, summaryOf } from '../kit/kills.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';

const processCount = 4;
const killCount = scaled(60, 1_000);
/** Beyond this, something is broken rather than slow. */
const hopelessMs = 2_000;
/** Twice the default lifetime of an entry, for a busy machine. */
const deafMaxMs = 4_000;

async function withProcesses(
  options: { readonly isDeaf: boolean },
  work: (processes: readonly TerseProcess[]) => Promise<void>,
): Promise<void> {
  const dataFolder = temporaryFolder();
  const deaf = (): string[] => [process.execPath, join(import.meta.dir, '../kit/unsubscribed-terse.ts')];
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

test(
  'a kill takes effect in four processes under load, whichever way the link is killed, and nothing revives it',
  async () => {
    await withProcesses({ isDeaf: false }, async processes => {
      const victims = await makeVictims(callerOf(processes[0]!.url), killCount);
      const takenMs: number[] = [];
      for (const [index, victim] of victims.entries())
        takenMs.push(await killAndWatch(processes, victim, index, hopelessMs));
      expect(takenMs.filter(each => each > hopelessMs)).toEqual([]);
      report(summaryOf(takenMs));
    });
  },
  heavyTestMaxMs,
);

test(
  'with every message lost, a kill takes effect as soon as cached entries have to be read again',
  async () => {
    await withProcesses({ isDeaf: true }, async processes => {
      const victims = await makeVictims(callerOf(processes[0]!.url), scaled(10, 100));
      const takenMs: number[] = [];
      await inParallel(victims.length, 10, async index => {
        takenMs.push(await killAndWatch(processes, victims[index]!, index, deafMaxMs));
      });
      expect(takenMs.filter(each => each > deafMaxMs)).toEqual([]);
      // Otherwise the fault was not injected.
      expect(Math.max(...takenMs)).toBeGreaterThan(killPromisedMs);
      report(`${takenMs.length} kills with no message: max ${Math.max(...takenMs).toFixed(0)} ms`);
    });
  },
  heavyTestMaxMs,
);

describe('a store read that is in flight at the moment of the kill', () => {
  /** Two processes on one data folder; reads of the second can be delayed after they took their value. */
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
      freshness: {
        get provenAtMs() {
          return follower.provenAtMs;
        },
      },
      outage: { isStoreFailing: () => false, mayAskCache: () => false, staleMaxMs: 0 },
      isFollowable: () => true,
      clock: systemClock,
      random: seededRandom(1),
      entriesMax: 100,
      bytesMax: 1024 * 1024,
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
        rmSync(folder, { recursive: true, force: true });
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

  test('is also discarded when it ends long after the kill and visitors came meanwhile', async () => {
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
