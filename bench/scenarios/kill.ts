/**
 * The kill switch across processes: from the answer that a link is killed until the last of four processes stops
 * leading there. Links are warm everywhere and visited all the while. Then the same with every message about changes
 * lost, when only the life of what is remembered bounds it.
 */
import { join } from 'node:path';
import { inParallel } from '../../src/base/in-parallel.ts';
import { systemRandom } from '../../src/base/random.ts';
import { callerOf } from '../../test/kit/client.ts';
import { killKinds, kill as killLink, leadsThere, makeVictims, type Victim } from '../../test/kit/kills.ts';
import { startTerseProcess, type TerseProcess } from '../../test/kit/terse-process.ts';
import { Histogram } from '../kit/histogram.ts';
import { formatCount, measure } from '../kit/measure.ts';
import type { Scenario } from '../kit/scenario.ts';

const processCount = 4;
const kills = 1_000;
const unheardKills = 200;
const unheardAtOnce = 20;
/** Kills come when they like: in step with the poll they would all meet the same phase of it. */
const pauseMaxMs = 40;
const hopelessMs = 20_000;
const deafProcess = join(import.meta.dir, '../../test/kit/deaf-terse.ts');

export const kill: Scenario = {
  name: 'kill',
  summary: 'from the answer to a kill until no process leads there',
  async run({ inFolder, note }) {
    const rows = [];
    for (const isDeaf of [false, true]) {
      const count = isDeaf ? unheardKills : kills;
      note(`${formatCount(count)} kills across ${processCount} processes${isDeaf ? ', messages lost' : ''}`);
      const latencies = await inFolder(folder => measureKills(folder, count, isDeaf));
      rows.push([
        isDeaf ? 'every message lost' : 'as it is',
        measure(latencies.count),
        measure(latencies.quantileUs(0.5) / 1_000),
        measure(latencies.quantileUs(0.99) / 1_000),
        measure(latencies.maxUs / 1_000),
      ]);
    }
    return {
      tables: [
        {
          title: `Kills (${killKinds.join(', ')}) until the last of ${processCount} processes obeys`,
          columns: ['messages', 'kills', 'p50 ms', 'p99 ms', 'max ms'],
          rows,
          notes: ['Each process is asked without a pause; the time of the first answer that obeys counts.'],
        },
      ],
    };
  },
};

async function measureKills(dataFolder: string, count: number, isDeaf: boolean): Promise<Histogram> {
  const wrap = (): string[] => [process.execPath, deafProcess];
  const processes = await Promise.all(
    Array.from({ length: processCount }, () => startTerseProcess({ dataFolder, ...(isDeaf && { wrap }) })),
  );
  const histogram = new Histogram();
  try {
    const victims = await makeVictims(callerOf(processes[0]!.url), count);
    await inParallel(count, isDeaf ? unheardAtOnce : 1, async index => {
      await Bun.sleep(systemRandom.float() * pauseMaxMs);
      histogram.record((await killed(processes, victims[index]!, index)) * 1_000);
    });
  } finally {
    await Promise.all(processes.map(terse => terse.stop()));
  }
  return histogram;
}

async function killed(processes: readonly TerseProcess[], victim: Victim, index: number): Promise<number> {
  for (const { url } of processes)
    if (!(await leadsThere(url, victim))) throw new Error(`${victim.code} leads nowhere before it is killed`);
  const call = callerOf(processes[index % processCount]!.url);
  await killLink(call, killKinds[index % killKinds.length]!, victim);
  const killedMs = performance.now();
  const obeyed = processes.map(async ({ url }) => {
    while (await leadsThere(url, victim))
      if (performance.now() - killedMs > hopelessMs) throw new Error(`${victim.code} does not die`);
    return performance.now() - killedMs;
  });
  return Math.max(...(await Promise.all(obeyed)));
}
