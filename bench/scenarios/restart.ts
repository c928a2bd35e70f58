/**
 * Workers that go while visitors come: a rolling restart, which nobody should notice, and a worker that is killed,
 * which only those may notice whom it was just serving. With connections that are kept, and with a new one for
 * every visitor, because these two go wrong in different ways.
 */
import { join } from 'node:path';
import type { TerseProcess } from '../../test/kit/terse-process.ts';
import type { ClientReport } from '../kit/client-plan.ts';
import { formatCount, measure } from '../kit/measure.ts';
import { failuresOf } from '../kit/paced-load.ts';
import type { Plot } from '../kit/plot.ts';
import { childrenOf } from '../kit/process-family.ts';
import type { Bench, Scenario } from '../kit/scenario.ts';
import type { Table } from '../kit/table.ts';
import { createLinks, visitOf } from '../kit/visits.ts';
import { untilChildren } from '../kit/workers.ts';

const workerCount = 2;
const workersMaxMs = 5_000;
const keptConnections = 64;
const newConnectionsMax = 1_000;
const newConnectionsPerSecond = 1_000;
const loadShare = 0.4;
const warmUpS = 1;
/** From the end of the warm-up. */
const eventAtS = 2;
const durationS = 6;
const momentS = 0.25;
const replacedMaxMs = 20_000;

interface Disturbance {
  readonly what: string;
  readonly isKeptAlive: boolean;
  readonly report: ClientReport;
  /** NaN when the workers were not replaced in time. */
  readonly replacedMs: number;
}

type Disturb = (supervisor: number, workers: readonly number[]) => void;

const events: Readonly<Record<string, { readonly disturb: Disturb; readonly goes: number }>> = {
  'rolling restart': {
    disturb: supervisor => process.kill(supervisor, 'SIGHUP'),
    goes: workerCount,
  },
  'a worker killed': { disturb: (_supervisor, [worker]) => process.kill(worker!, 'SIGKILL'), goes: 1 },
};

export const restart: Scenario = {
  name: 'restart',
  summary: `a rolling restart and a killed worker, ${workerCount} workers under load`,
  run: bench =>
    bench.inFolder(folder =>
      bench.withTerse({ dataFolder: join(folder, 'terse'), workers: workerCount }, async terse => {
        const isComplete = (children: readonly number[]): boolean => children.length === workerCount;
        if (!(await untilChildren(terse.pid, isComplete, workersMaxMs))) {
          bench.note('this Terse starts no workers: there is nothing to restart');
          return { tables: [] };
        }
        const links = await createLinks(terse.url, 1);
        const [code] = [links.codeAt(0)];
        const kept = { url: terse.url, requests: [visitOf(code)], connections: keptConnections };
        const cores = bench.coresFor(workerCount).load;
        const peak = await bench.load({ ...kept, durationS: bench.options.seconds, cores });
        const perSecond = loadShare * peak.perSecond;
        const disturbances: Disturbance[] = [];
        for (const what of Object.keys(events)) {
          for (const isKeptAlive of [true, false]) {
            bench.note(`${what}, ${isKeptAlive ? 'connections kept' : 'a new connection for each'}`);
            disturbances.push(await disturbed(bench, terse, { what, isKeptAlive, code, perSecond }));
          }
        }
        return { tables: [tableOf(disturbances)], plots: disturbances.slice(0, 1).map(plotOf) };
      }),
    ),
};

async function disturbed(
  { paced, coresFor }: Bench,
  terse: TerseProcess,
  load: { what: string; isKeptAlive: boolean; code: string; perSecond: number },
): Promise<Disturbance> {
  const { what, isKeptAlive, code, perSecond } = load;
  const { disturb, goes } = events[what]!;
  const running = paced(
    {
      url: terse.url,
      durationS,
      warmUpS,
      momentS,
      isKeptAlive,
      requests: [visitOf(code, isKeptAlive ? {} : { Connection: 'close' })],
      perSecond: isKeptAlive ? perSecond : newConnectionsPerSecond,
      connections: isKeptAlive ? keptConnections : 0,
      // Who loses a connection may make a new one, as browsers do.
      connectionsMax: isKeptAlive ? 2 * keptConnections : newConnectionsMax,
    },
    coresFor(workerCount),
  );
  await Bun.sleep((warmUpS + eventAtS) * 1_000);
  const before = childrenOf(terse.pid);
  disturb(terse.pid, before);
  const startedMs = performance.now();
  const isReplaced = (now: readonly number[]): boolean =>
    now.length === workerCount && now.filter(child => !before.includes(child)).length === goes;
  const wasReplaced = await untilChildren(terse.pid, isReplaced, replacedMaxMs);
  const replacedMs = wasReplaced ? performance.now() - startedMs : Number.NaN;
  return { what, isKeptAlive, replacedMs, report: await running };
}

function tableOf(disturbances: readonly Disturbance[]): Table {
  return {
    title: `${workerCount} workers under load when some of them go`,
    columns: [
      'event',
      'connections',
      'visits/s',
      'visits',
      'failed',
      'asked again',
      'in flight at most',
      'p99 ms',
      'max ms',
      'replaced after ms',
    ],
    rows: disturbances.map(({ what, isKeptAlive, report, replacedMs }) => [
      what,
      isKeptAlive ? `${keptConnections} kept` : 'one for each visit',
      measure(report.servedPerSecond),
      measure(report.served.count + failuresOf(report)),
      measure(failuresOf(report)),
      measure(report.retried),
      measure(report.inFlightMax),
      measure(report.served.p99Ms, 1),
      measure(report.served.maxMs, 1),
      measure(replacedMs),
    ]),
    notes: [
      `Kept connections carry ${loadShare * 100}% of what they get in a closed loop, new ones ${formatCount(newConnectionsPerSecond)} visits/s.`,
      'Asked again: closed before any of the answer, and repeated on another connection, as clients do. After a kill these were in flight too.',
      'Server and load may share cores; waiting times are for comparison only.',
      ...disturbances.filter(({ report }) => failuresOf(report) > 0).map(failureNote),
    ],
  };
}

function failureNote({ what, isKeptAlive, report: { broken, gaveUp, statuses } }: Disturbance): string {
  const answers = Object.entries(statuses).map(([status, count]) => `${formatCount(count)} × ${status}`);
  const kind = isKeptAlive ? 'connections kept' : 'a connection for each';
  return `${what}, ${kind}: ${broken} broken off, ${gaveUp} waited in vain, answers ${answers.join(', ')}.`;
}

function plotOf({ what, report }: Disturbance): Plot {
  const line = (name: string, figure: 'served' | 'broken' | 'p99Ms' | 'maxMs', factor = 1) => ({
    name,
    points: report.moments.map(moment => [moment.atS, moment[figure] * factor] as const),
  });
  return {
    kind: 'lines',
    name: 'restart',
    title: `Visitors during a ${what}`,
    along: 'seconds',
    panels: [
      {
        unit: 'per second',
        lines: [line('answered', 'served', 1 / momentS), line('broken', 'broken', 1 / momentS)],
      },
      { unit: 'ms', lines: [line('p99', 'p99Ms'), line('longest', 'maxMs')] },
    ],
    marks: [{ at: eventAtS, label: what }],
  };
}
