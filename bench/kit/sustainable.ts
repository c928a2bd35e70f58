/**
 * The sustainable rate of a server. The rate of a closed loop may not be sustainable: some work of an answer is done
 * later, and a growing backlog shows in no answer. A rate is sustainable when it was held for a while at a constant
 * pace, every visitor was served quickly, no click was dropped, and all the work, until the last click was counted,
 * took no more than that time.
 */
import { reconcileAt } from '../../test/kit/click-account.ts';
import { formatCount } from './measure.ts';
import { failuresOf, type PacedPlan } from './paced-load.ts';
import { searchRate } from './rate-search.ts';
import type { Bench } from './scenario.ts';
import { type LoadedServer, loadServer, startMeter, untilCounted } from './server-load.ts';

export interface SustainableOptions {
  /** For the notes. */
  readonly name: string;
  readonly server: LoadedServer;
  readonly requests: readonly string[];
  readonly connections: number;
  /** How a trial differs from these connections being kept, and no others. */
  readonly trial?: Pick<PacedPlan, 'connectionsMax' | 'isKeptAlive'>;
  /** No visitor should wait longer than this. */
  readonly p99MaxMs?: number;
}

export interface SustainableRate {
  /** The rate in a closed loop. */
  readonly peakPerSecond: number;
  /** The highest rate that was held; when none was, the lowest that was tried. */
  readonly perSecond: number;
  readonly isHeld: boolean;
}

interface Trial {
  readonly failures: number;
  readonly dropped: number;
  readonly p99Ms: number;
  /** The client's own delay. */
  readonly lagP99Ms: number;
  /** The share of the server's core that the trial took, including work after its end. */
  readonly coreShare: number;
}

/** The length of a trial in turns of load: 20 s at full size. */
const trialTurns = 4;
const trialsMax = 5;
/** The ratio between the lowest rate that was not held and the highest that was; a finer one would measure noise. */
const precision = 1.1;
const p99MaxMsStandard = 50;
const coreShareMax = 0.98;
/** The first trial as a share of the rate that the closed loop suggests. */
const firstShare = 0.95;

export const sustainableMeaning = `Sustainable: held at a constant rate with nobody refused or broken off, p99 below ${p99MaxMsStandard} ms, no click dropped, and all work done in the time it was asked for, counting included.`;

export async function sustainableRate(bench: Bench, options: SustainableOptions): Promise<SustainableRate> {
  const { name, server, requests, connections, p99MaxMs = p99MaxMsStandard } = options;
  const loop = { connections, requests, durationS: bench.options.seconds, cores: bench.coresFor(1).load };
  const { perSecond: peakPerSecond, cpuUs } = await loadServer(bench.load, server, loop);
  await untilCounted(server);
  // The rate of one core at this cost; if the system does not report the cost, that of the closed loop.
  const promisedPerSecond = Math.min(peakPerSecond, Number.isNaN(cpuUs) ? peakPerSecond : 1e6 / cpuUs);
  const { best, lowest } = await searchRate({
    from: promisedPerSecond * firstShare,
    above: peakPerSecond,
    precision,
    trialsMax,
    async holds(perSecond) {
      const fault = faultOf(await tried(bench, options, perSecond), p99MaxMs);
      bench.note(
        `${name}: ${formatCount(perSecond)}/s ${fault === undefined ? 'hold' : `do not hold: ${fault}`}`,
      );
      return fault === undefined;
    },
  });
  const perSecond = best ?? lowest;
  bench.note(
    `${name}: ${formatCount(peakPerSecond)}/s in a closed loop, ${formatCount(perSecond)}/s sustainable`,
  );
  return { peakPerSecond, perSecond, isHeld: best !== undefined };
}

/** Both figures in words. */
export function rateNote(name: string, { peakPerSecond, perSecond, isHeld }: SustainableRate): string {
  const held = isHeld ? 'are sustainable' : 'were not sustained either, and nothing below was tried';
  return `${name}: ${formatCount(peakPerSecond)}/s in a closed loop, ${formatCount(perSecond)}/s ${held}.`;
}

async function tried(
  bench: Bench,
  { server, requests, connections, trial }: SustainableOptions,
  perSecond: number,
): Promise<Trial> {
  const durationS = bench.options.seconds * trialTurns;
  const warmUpS = 1;
  const droppedBefore = (await reconcileAt(server.url)).totals.dropped;
  const meter = startMeter(server.pid);
  const load = { url: server.url, perSecond, durationS, warmUpS, connections, requests, ...trial };
  const report = await bench.paced(load, bench.coresFor(1));
  const { dropped } = await untilCounted(server);
  return {
    failures: failuresOf(report),
    dropped: dropped - droppedBefore,
    p99Ms: report.served.p99Ms,
    lagP99Ms: report.lagP99Ms,
    coreShare: meter.coreShare(warmUpS + durationS),
  };
}

/** Why a rate is not sustainable, in words; undefined when it is. */
export function faultOf(trial: Trial, p99MaxMs: number): string | undefined {
  const { failures, dropped, p99Ms, lagP99Ms, coreShare } = trial;
  if (failures > 0) return `${formatCount(failures)} were not served`;
  if (dropped > 0) return `${formatCount(dropped)} clicks were dropped`;
  if (p99Ms > p99MaxMs) {
    return `a p99 of ${p99Ms.toFixed(1)} ms, with the client late by ${lagP99Ms.toFixed(1)} ms`;
  }
  // NaN where the system does not report it.
  if (coreShare > coreShareMax) return `work for ${(coreShare * 100).toFixed(0)}% of the time`;
  return undefined;
}
