/**
 * Latency at four fifths of the sustainable rate, at a constant pace: a stall counts for every visitor who comes during
 * it. Compared with nginx at the same rate, which shows the share of the machine and the client; and with the pauses of
 * garbage collection.
 */
import { join } from 'node:path';
import { filledStore, lendLinks } from '../kit/filled-store.ts';
import { gcCells, gcColumns, gcLogSettings, readGcLog } from '../kit/gc-log.ts';
import { formatCount, measureOf } from '../kit/measure.ts';
import type { BenchOptions } from '../kit/options.ts';
import { failuresOf } from '../kit/paced-load.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Bench, Scenario } from '../kit/scenario.ts';
import { type LoadedServer, startMeter, untilCounted, untilIdle } from '../kit/server-load.ts';
import { rateNote, sustainableMeaning, sustainableRate } from '../kit/sustainable.ts';
import type { Table } from '../kit/table.ts';
import { targetsOf, visitCount, visitOf, zipfVisits } from '../kit/visits.ts';

const visitors = 64;
const loadShare = 0.8;
const warmUpS = 1;
/** Longer than other turns, so that rare events happen in each. */
const turnS = ({ seconds }: BenchOptions): number => warmUpS + 2 * seconds;

interface Waiting {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  readonly failures: number;
  readonly corePercent: number;
  readonly lagP99Ms: number;
}

export const latency: Scenario = {
  name: 'latency',
  summary: `what visitors wait for at ${loadShare * 100}% of the sustainable rate`,
  run: bench =>
    bench.inFolder(async folder => {
      const { options, note } = bench;
      const store = await filledStore(bench.cacheFolder, options.warmLinks, note);
      const traffics = {
        'one link': [visitOf(store.codeAt(0))],
        [`Zipf over ${formatCount(store.links)} links`]: zipfVisits(store, visitCount(options)),
      };
      const gcLog = Bun.file(join(folder, 'gc.log'));
      const dataFolder = lendLinks(store, join(folder, 'terse'));
      return bench.withNginx({ folder: join(folder, 'nginx'), targets: targetsOf(store) }, nginx =>
        bench.withTerse({ dataFolder, env: gcLogSettings, stderr: gcLog }, async terse => {
          const contenders: Record<string, () => Promise<Waiting>> = {};
          const rateNotes: string[] = [];
          for (const [name, requests] of Object.entries(traffics)) {
            const rate = await sustainableRate(bench, {
              name,
              server: terse,
              requests,
              connections: visitors,
            });
            rateNotes.push(rateNote(name, rate));
            const load = { requests, perSecond: rate.perSecond * loadShare };
            if (nginx !== undefined) {
              contenders[`nginx, ${name}`] = () =>
                turn(bench, { ...load, server: nginx, untilDone: () => untilIdle(nginx.pid) });
            }
            contenders[`Terse, ${name}`] = () =>
              turn(bench, { ...load, server: terse, untilDone: () => untilCounted(terse) });
          }
          const logBefore = (await gcLog.text()).length;
          const rounds = await interleaved(options.rounds, contenders);
          const log = await gcLog.text();
          const turns = options.rounds * Object.keys(traffics).length;
          return {
            tables: [waitingTable(rounds, rateNotes), gcTable(log, logBefore, turns * turnS(options))],
          };
        }),
      );
    }),
};

async function turn(
  { paced, coresFor, options }: Bench,
  load: {
    readonly server: LoadedServer;
    readonly requests: readonly string[];
    readonly perSecond: number;
    /** Waits for deferred work, which must not affect the next contender. */
    untilDone(): Promise<unknown>;
  },
): Promise<Waiting> {
  const { server, requests, perSecond } = load;
  const durationS = turnS(options) - warmUpS;
  const meter = startMeter(server.pid);
  const plan = { url: server.url, perSecond, durationS, warmUpS, connections: visitors, requests };
  const report = await paced(plan, coresFor(1));
  await load.untilDone();
  const corePercent = meter.coreShare(turnS(options)) * 100;
  const { count: _count, ...waiting } = report.served;
  const { servedPerSecond, lagP99Ms } = report;
  return { ...waiting, perSecond: servedPerSecond, failures: failuresOf(report), corePercent, lagP99Ms };
}

function waitingTable(
  rounds: Readonly<Record<string, readonly Waiting[]>>,
  rateNotes: readonly string[],
): Table {
  return {
    title: `Latency at a constant rate, one core, ${visitors} connections`,
    columns: [
      'server',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'p99.9 ms',
      'max ms',
      'core used %',
      'not served',
      'client late p99 ms',
    ],
    rows: Object.entries(rounds).map(([name, turns]) => [
      name,
      measureOf(turns, 'perSecond'),
      measureOf(turns, 'p50Ms', 2),
      measureOf(turns, 'p99Ms', 2),
      measureOf(turns, 'p999Ms', 2),
      measureOf(turns, 'maxMs', 1),
      measureOf(turns, 'corePercent'),
      measureOf(turns, 'failures'),
      measureOf(turns, 'lagP99Ms', 2),
    ]),
    notes: [
      `The rate is ${loadShare * 100}% of what Terse sustains; nginx has the same.`,
      ...rateNotes,
      sustainableMeaning,
      'Core used: until nothing is left to do, the last click counted.',
      'A visitor waits from the moment of coming, also while no connection is free or the client itself is late.',
    ],
  };
}

/** The heaps in the order in which they first collected. */
function gcTable(log: string, from: number, durationS: number): Table {
  const order = readGcLog(log).map(({ heap }) => heap);
  const heaps = readGcLog(log.slice(from)).toSorted((a, b) => order.indexOf(a.heap) - order.indexOf(b.heap));
  return {
    title: 'Pauses of garbage collection meanwhile, in Terse',
    columns: ['thread', ...gcColumns],
    rows: heaps.map(pauses => [
      order.indexOf(pauses.heap) === 0 ? 'answers visitors' : `beside it, ${order.indexOf(pauses.heap)}`,
      ...gcCells(pauses, durationS),
    ]),
    notes: ['From the log of the runtime. A pause stops its own thread; all share the one core.'],
  };
}
