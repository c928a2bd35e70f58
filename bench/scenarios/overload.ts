/**
 * Overload: two and three times the sustainable rate, with visitors who come whether or not others are served and leave
 * after a timeout. Throughput must not drop, the excess must be rejected quickly with a Retry-After, and the server
 * must recover when the overload ends.
 */
import { join } from 'node:path';
import { reconcileAt } from '../../test/kit/click-account.ts';
import { filledStore, lendLinks, longUrlAt } from '../kit/filled-store.ts';
import { asAdmin, postRequest } from '../kit/load.ts';
import { formatCount, measureOf } from '../kit/measure.ts';
import type { PacedPlan } from '../kit/paced-load.ts';
import { recoveryMs, startProbing } from '../kit/probes.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Bench, Scenario } from '../kit/scenario.ts';
import { type LoadedServer, untilCounted } from '../kit/server-load.ts';
import { rateNote, sustainableMeaning, sustainableRate } from '../kit/sustainable.ts';
import type { Table } from '../kit/table.ts';
import { createLinks, visitCount, visitOf, zipfVisits } from '../kit/visits.ts';

const multiples = [1, 2, 3];
/** Redirects over kept connections come through proxies, which hold this many; a visitor who finds none free waits. */
const proxiedMax = 1_000;
/** Others make a connection when they find none free. */
const visitorsMax = 4_000;
/** For visitors with a connection each the server's limit is set lower, so that some connections are rejected. */
const letInMax = 1_000;
const connectionsOfPeak = 64;
const timeoutMs = 2_000;
/** A visitor without a connection leaves sooner: those who get one late would leave before their answer comes. */
const unsentMaxMs = 500;
const quickMs = 25;
const recoveryMaxMs = 10_000;
const creates = 20_000;
/** A create waits for the disk, and for others that share the commit. */
const createP99MaxMs = 250;
/** A third of the usual rounds, because each takes minutes: the server must recover before the next. */
const roundShare = 1 / 3;

interface Kind {
  readonly name: string;
  /** For the plot, where there is less room. */
  readonly unit: string;
  readonly requests: readonly string[];
  readonly connectionsMax: number;
  readonly isKeptAlive?: boolean;
  readonly p99MaxMs?: number;
}

interface Overloaded {
  readonly offeredPerSecond: number;
  readonly sentPerSecond: number;
  readonly servedPerSecond: number;
  readonly ofSustainablePercent: number;
  readonly refusedPerSecond: number;
  readonly refusedPercent: number;
  readonly withRetryAfterPercent: number;
  readonly refusedP50Ms: number;
  readonly refusedP99Ms: number;
  readonly servedP50Ms: number;
  readonly servedP99Ms: number;
  readonly gaveUpPercent: number;
  readonly broken: number;
  readonly droppedPercent: number;
  readonly recoveredMs: number;
}

interface KindFindings {
  readonly kind: string;
  readonly unit: string;
  readonly note: string;
  readonly rounds: Readonly<Record<string, readonly Overloaded[]>>;
}

export const overload: Scenario = {
  name: 'overload',
  summary: `${multiples.join(', ')} times the load that is sustainable`,
  run: bench =>
    bench.inFolder(async folder => {
      const store = await filledStore(bench.cacheFolder, bench.options.warmLinks, bench.note);
      const code = store.codeAt(0);
      const many = { dataFolder: lendLinks(store, join(folder, 'many')) };
      const kept = await bench.withTerse(many, async terse => [
        await overloadedBy(bench, terse, code, {
          name: 'redirects of one link',
          unit: 'redirects/s of one link',
          requests: [visitOf(code)],
          connectionsMax: proxiedMax,
        }),
        await overloadedBy(bench, terse, code, {
          name: `redirects, Zipf over ${formatCount(store.links)} links`,
          unit: 'redirects/s of many links',
          requests: zipfVisits(store, visitCount({ seconds: 10 })),
          connectionsMax: proxiedMax,
        }),
      ]);
      const narrow = {
        dataFolder: lendLinks(store, join(folder, 'narrow')),
        env: { TERSE_CONNECTIONS: String(letInMax) },
      };
      const single = await bench.withTerse(narrow, terse =>
        overloadedBy(bench, terse, code, {
          name: 'redirects, each on a connection of its own',
          unit: 'redirects/s, a connection each',
          requests: [visitOf(code, { Connection: 'close' })],
          isKeptAlive: false,
          connectionsMax: visitorsMax,
        }),
      );
      const written = await bench.withTerse({ dataFolder: join(folder, 'empty') }, async terse => {
        const links = await createLinks(terse.url, 1);
        const requests = Array.from({ length: creates }, (_, turn) =>
          postRequest('/api/v1/links', { longUrl: longUrlAt(turn) }, asAdmin),
        );
        const kind = {
          name: 'creates',
          unit: 'creates/s',
          requests,
          connectionsMax: visitorsMax,
          p99MaxMs: createP99MaxMs,
        };
        return overloadedBy(bench, terse, links.codeAt(0), kind);
      });
      const findings = [...kept, single, written];
      return { tables: [tableOf(findings)] };
    }),
};

/** `code` is a working link; requests for it show when the server has recovered. */
async function overloadedBy(
  bench: Bench,
  server: LoadedServer,
  code: string,
  { name, unit, requests, connectionsMax, isKeptAlive = true, p99MaxMs }: Kind,
): Promise<KindFindings> {
  const first = isKeptAlive ? connectionsOfPeak : 0;
  const rate = await sustainableRate(bench, {
    name,
    server,
    requests,
    connections: connectionsOfPeak,
    trial: { isKeptAlive, connectionsMax: 4 * connectionsOfPeak },
    ...(p99MaxMs !== undefined && { p99MaxMs }),
  });
  const turns = multiples.map(multiple => {
    const plan: Omit<PacedPlan, 'durationS'> = {
      url: server.url,
      requests,
      isKeptAlive,
      perSecond: rate.perSecond * multiple,
      connections: first,
      connectionsMax,
      timeoutMs,
      unsentMaxMs,
    };
    const probeUrl = `${server.url}/${code}`;
    return [
      `${multiple}×`,
      () => {
        bench.note(`${name}: ${multiple} times as many`);
        return overloaded(bench, { server, plan, probeUrl, sustainable: rate.perSecond });
      },
    ];
  });
  const rounds = await interleaved(Math.ceil(bench.options.rounds * roundShare), Object.fromEntries(turns));
  return { kind: name, unit, note: rateNote(name, rate), rounds };
}

async function overloaded(
  { paced, options, coresFor }: Bench,
  load: {
    readonly server: LoadedServer;
    readonly plan: Omit<PacedPlan, 'durationS'>;
    readonly probeUrl: string;
    readonly sustainable: number;
  },
): Promise<Overloaded> {
  const { server, plan, sustainable } = load;
  // The server's reaction takes a moment.
  const durationS = 2 * options.seconds;
  const before = (await reconcileAt(server.url)).totals;
  const probing = startProbing(load.probeUrl);
  try {
    const report = await paced({ ...plan, durationS }, coresFor(1));
    const recovered = (): number | undefined => recoveryMs(probing.probes, report.endedAtMs, quickMs);
    for (const untilMs = performance.now() + recoveryMaxMs; performance.now() < untilMs; ) {
      if (recovered() !== undefined) break;
      await Bun.sleep(quickMs);
    }
    await probing.stop();
    const after = await untilCounted(server);
    const clicks = Math.max(1, after.produced - before.produced);
    const { served, refused, gaveUp, broken, servedPerSecond } = report;
    const all = served.count + refused.count + gaveUp + broken;
    const ofRefused = (figure: number): number => (refused.count === 0 ? Number.NaN : figure);
    return {
      offeredPerSecond: plan.perSecond,
      sentPerSecond: report.sent / durationS,
      servedPerSecond,
      ofSustainablePercent: (servedPerSecond / sustainable) * 100,
      refusedPerSecond: refused.count / durationS,
      refusedPercent: (refused.count / all) * 100,
      withRetryAfterPercent: ofRefused((report.withRetryAfter / refused.count) * 100),
      refusedP50Ms: ofRefused(refused.p50Ms),
      refusedP99Ms: ofRefused(refused.p99Ms),
      servedP50Ms: served.p50Ms,
      servedP99Ms: served.p99Ms,
      gaveUpPercent: (gaveUp / all) * 100,
      broken,
      droppedPercent: ((after.dropped - before.dropped) / clicks) * 100,
      recoveredMs: recovered() ?? Number.NaN,
    };
  } finally {
    await probing.stop();
  }
}

function tableOf(findings: readonly KindFindings[]): Table {
  return {
    title: `More than the sustainable load, one core`,
    columns: [
      'what',
      'load',
      'offered/s',
      'sent/s',
      'served/s',
      'of the sustainable %',
      'served p50 ms',
      'served p99 ms',
      '503 %',
      'of them with Retry-After %',
      '503 p50 ms',
      '503 p99 ms',
      'gave up %',
      'broken',
      'clicks dropped %',
      'recovered after ms',
    ],
    rows: findings.flatMap(({ kind, rounds }) =>
      Object.entries(rounds).map(([load, turns]) => [
        kind,
        load,
        measureOf(turns, 'offeredPerSecond'),
        measureOf(turns, 'sentPerSecond'),
        measureOf(turns, 'servedPerSecond'),
        measureOf(turns, 'ofSustainablePercent'),
        measureOf(turns, 'servedP50Ms', 1),
        measureOf(turns, 'servedP99Ms', 1),
        measureOf(turns, 'refusedPercent', 1),
        measureOf(turns, 'withRetryAfterPercent'),
        measureOf(turns, 'refusedP50Ms', 1),
        measureOf(turns, 'refusedP99Ms', 1),
        measureOf(turns, 'gaveUpPercent', 1),
        measureOf(turns, 'broken'),
        measureOf(turns, 'droppedPercent', 1),
        measureOf(turns, 'recoveredMs'),
      ]),
    ),
    notes: [
      `Redirects over kept connections have ${formatCount(proxiedMax)} of them at most, others ${formatCount(visitorsMax)}; of visitors with one each the server lets in ${formatCount(letInMax)}.`,
      `Visitors leave after ${timeoutMs / 1_000} s, or after ${unsentMaxMs / 1_000} s if they have no connection by then. Sent: those who had one, as far as one core makes a client.`,
      `Recovered: from the end of the load until visitors with new connections wait less than ${quickMs} ms.`,
      ...findings.map(({ note }) => note),
      `${sustainableMeaning} For creates the p99 may be ${createP99MaxMs} ms.`,
    ],
  };
}
