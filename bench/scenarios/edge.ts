/**
 * Terse behind real edge caches: what they take off its hands on traffic as links are popular, how soon a kill is obeyed
 * there, and whether every click is counted, from the edge's log or because the edge asks each time. Beside the same
 * Terse without an edge, in the same turns.
 */
import { createClickedLinks } from '../../test/kit/click-account.ts';
import { EdgeInstallation, type EdgeKind, type EdgeMode, until } from '../../test/kit/edge-installation.ts';
import { whyNot } from '../../test/kit/engines/describe-with-engine.ts';
import { kill, killKinds, leadsThere, makeVictims } from '../../test/kit/kills.ts';
import { sampleVisits } from '../../test/kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../../test/kit/visit-load.ts';
import { Histogram } from '../kit/histogram.ts';
import type { LoadResult } from '../kit/load.ts';
import { formatCount, measure, measureOf, ratio } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Bench, Scenario } from '../kit/scenario.ts';
import { startMeter, untilCounted } from '../kit/server-load.ts';
import type { Cell, Table } from '../kit/table.ts';
import { createLinks, visitCount, zipfVisits } from '../kit/visits.ts';

const linkCount = 50_000;
const connections = 64;
const kills = 200;
const countedVisits = 50_000;
const countedConnections = 16;
const hopelessMs = 20_000;

const cases: readonly { readonly kind: EdgeKind; readonly mode: EdgeMode }[] = [
  { kind: 'varnish', mode: 'log' },
  { kind: 'varnish', mode: 'revalidate' },
  { kind: 'nginx', mode: 'log' },
  { kind: 'nginx', mode: 'revalidate' },
];

export const edge: Scenario = {
  name: 'edge',
  summary: 'behind Varnish and nginx: what they answer, kills, counted clicks',
  isOnRequest: true,
  async run(bench) {
    const [traffic, deaths, accounts]: [Cell[][], Cell[][], Cell[][]] = [[], [], []];
    for (const { kind, mode } of cases) {
      const name = `${kind}, ${mode}`;
      const reason = whyNot(kind, { own: true });
      if (reason !== undefined) {
        bench.note(`without ${name}: ${reason}`);
        continue;
      }
      bench.note(name);
      const installation = await EdgeInstallation.start(kind, mode);
      try {
        traffic.push(...(await trafficRows(bench, name, installation)));
        deaths.push([name, ...(await killCells(installation))]);
        accounts.push([name, ...(await accountCells(installation))]);
      } finally {
        await installation.stop();
      }
    }
    return { tables: tablesOf(traffic, deaths, accounts) };
  },
};

interface Turn extends LoadResult {
  readonly edgeUs: number;
  readonly terseUs: number;
  /** Of a hundred requests, those that Terse was asked for. */
  readonly askedPercent: number;
}

async function trafficRows(bench: Bench, name: string, installation: EdgeInstallation): Promise<Cell[][]> {
  const { options, load, note } = bench;
  note(`${formatCount(linkCount)} links`);
  const links = await createLinks(installation.terse.url, linkCount);
  const requests = zipfVisits(links, visitCount(options));
  const turn = async (url: string): Promise<Turn> => {
    const before = await installation.answeredByTerse();
    const [edgeMeter, terseMeter] = [startMeter(installation.edge.pid!), startMeter(installation.terse.pid)];
    const result = await load({ url, connections, durationS: options.seconds, requests });
    // What is still to be counted belongs to this turn and not to the next.
    await untilCounted(installation.terse);
    const { cpuUs: edgeUs } = await edgeMeter.stop(result.requests);
    const { cpuUs: terseUs } = await terseMeter.stop(result.requests);
    const asked = (await installation.answeredByTerse()) - before;
    return { ...result, edgeUs, terseUs, askedPercent: (100 * asked) / result.requests };
  };
  const cold = await turn(installation.edge.url);
  const rounds = await interleaved(options.rounds, {
    direct: () => turn(installation.terse.url),
    edge: () => turn(installation.edge.url),
  });
  const rowOf = (server: string, turns: readonly Turn[], coldPercent: Cell): Cell[] => [
    server,
    measureOf(turns, 'perSecond'),
    measureOf(turns, 'p50Ms', 2),
    measureOf(turns, 'p99Ms', 2),
    measureOf(turns, 'edgeUs', 1),
    measureOf(turns, 'terseUs', 1),
    coldPercent,
    measureOf(turns, 'askedPercent', 2),
    ratio(measureOf(turns, 'perSecond'), measureOf(rounds.direct, 'perSecond')),
  ];
  return [
    rowOf('no edge', rounds.direct, measure([])),
    rowOf(name, rounds.edge, measure(cold.askedPercent, 1)),
  ];
}

async function killCells(installation: EdgeInstallation): Promise<Cell[]> {
  const histogram = new Histogram();
  const victims = await makeVictims(installation.call, kills);
  for (const [index, victim] of victims.entries()) {
    // Kept at the edge before it is killed.
    for (let times = 0; times < 2; times += 1)
      if (!(await leadsThere(installation.edge.url, victim))) throw new Error(`${victim.code} leads nowhere`);
    await kill(installation.call, killKinds[index % killKinds.length]!, victim);
    const killedMs = performance.now();
    while (await leadsThere(installation.edge.url, victim))
      if (performance.now() - killedMs > hopelessMs) throw new Error(`${victim.code} does not die`);
    histogram.record((performance.now() - killedMs) * 1_000);
  }
  return [
    measure(histogram.count),
    measure(histogram.quantileUs(0.5) / 1_000),
    measure(histogram.quantileUs(0.99) / 1_000),
    measure(histogram.maxUs / 1_000),
  ];
}

async function accountCells(installation: EdgeInstallation): Promise<Cell[]> {
  const codes = await createClickedLinks(installation.terse.url, 5);
  const tally = new VisitTally(sampleVisits({ codes }));
  const { url } = installation.edge;
  await sendVisits({ url, visits: tally, connections: countedConnections, count: countedVisits });
  const sent = tally.answeredCount();
  let counted = -1;
  // The log is written a moment after the answers, and what comes from it is counted a moment after that.
  await until('the counts to stand still', async () => {
    await installation.importLog();
    await Bun.sleep(3_000);
    const { people, machines } = await installation.counted(codes);
    const standsStill = counted === people + machines;
    counted = people + machines;
    return standsStill;
  });
  return [measure(sent), measure(counted), measure(counted - sent)];
}

function tablesOf(traffic: Cell[][], deaths: Cell[][], accounts: Cell[][]): Table[] {
  return [
    {
      title: `Zipf traffic over ${formatCount(linkCount)} links, ${connections} visitors`,
      columns: [
        'in front',
        'requests/s',
        'p50 ms',
        'p99 ms',
        'edge CPU µs',
        'Terse CPU µs',
        'asked, cold %',
        'asked, warm %',
        'rate to none',
      ],
      rows: traffic,
      notes: [
        'asked: of a hundred requests, those that reached Terse; cold is the first turn of an empty edge.',
        'log: the edge answers by itself; revalidate: it asks Terse each time. Edge, Terse and visitors share the cores.',
      ],
    },
    {
      title: `Kills (${killKinds.join(', ')}) until the edge obeys`,
      columns: ['in front', 'kills', 'p50 ms', 'p99 ms', 'max ms'],
      rows: deaths,
      notes: ['From the answer to the kill until the first answer of the edge that obeys.'],
    },
    {
      title: 'Clicks through the edge, sent and counted',
      columns: ['in front', 'sent', 'counted', 'difference'],
      rows: accounts,
      notes: ['log: what the edge answered is imported from its log, twice or more often.'],
    },
  ];
}
