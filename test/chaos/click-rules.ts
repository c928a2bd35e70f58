/**
 * Compares clicks with the visits of the history. Reported losses must be justified: only a kill loses clicks, and only
 * those in memory, of visits just before it.
 */
import type { ClickAccount, Fault, StatsRead, Visit } from './history.ts';
import { bounds } from './reachability.ts';
import type { Objection } from './violation.ts';

/** According to docs/clicks.md, a kill loses about a second's worth of clicks. */
export const clickLossMs = 1_000 + bounds.slackMs;

export interface ClickTotals {
  /** Redirects that clients got. */
  readonly sent: number;
  /** Visits without an answer, which may have been counted. */
  readonly unknown: number;
  readonly counted: number;
  readonly lost: number;
  /** Visits of both kinds whose clicks a kill may have lost. */
  readonly atRisk: number;
}

export function checkClicks(
  visits: readonly Visit[],
  reads: readonly StatsRead[],
  faults: readonly Fault[],
  account: ClickAccount | undefined,
  object: Objection,
): ClickTotals {
  const mayCount = visits.filter(visit => visit.outcome === 'unknown' || isRedirect(visit));
  const atRisk = new Set(mayCount.filter(visit => isAtRisk(visit, faults)));
  const certainOf = (some: readonly Visit[]): number =>
    some.filter(visit => isRedirect(visit) && !atRisk.has(visit)).length;

  const byCode = Map.groupBy(mayCount, ({ code }) => code);
  for (const read of reads) {
    if (read.clicks === undefined) continue;
    const visited = byCode.get(read.code) ?? [];
    const most = visited.filter(({ startMs }) => startMs <= read.endMs).length;
    if (read.clicks > most)
      object('clicks', read, `${read.code} has ${read.clicks} clicks of ${most} visits`);
    const least = certainOf(visited);
    if (read.kind === 'final-stats' && read.clicks < least)
      object('clicks', read, `${read.code} has ${read.clicks} clicks of ${least} that no kill can have lost`);
  }

  const sent = mayCount.filter(isRedirect).length;
  const unknown = mayCount.length - sent;
  const { counted = 0, lost = 0 } = account ?? {};
  const totals = { sent, unknown, counted, lost, atRisk: atRisk.size };
  if (account === undefined) return totals;
  const end = { startMs: visits.at(-1)?.endMs ?? 0 };
  const figures = `${sent} redirects, ${unknown} unknown, ${counted} counted, ${lost} lost, ${atRisk.size} at risk`;
  if (counted + lost < sent) object('clicks', end, `clicks are missing: ${figures}`);
  if (counted < certainOf(mayCount) || lost > atRisk.size)
    object('clicks', end, `more clicks are lost than kills can have lost: ${figures}`);
  if (counted > sent + unknown) object('clicks', end, `clicks are counted twice: ${figures}`);
  else if (counted + lost > sent + unknown)
    object('clicks', end, `more clicks are reported as lost than there were: ${figures}`);
  return totals;
}

const isRedirect = ({ location }: Visit): boolean => location !== undefined;

/** Whether its process was killed before its click was certainly written. The client saw the answer at `endMs`, or later. */
const isAtRisk = ({ process, startMs, endMs }: Visit, faults: readonly Fault[]): boolean =>
  faults.some(({ effects }) =>
    effects.some(
      ({ killMs, process: killed }) =>
        killMs !== undefined &&
        killed === process &&
        startMs <= killMs[1] &&
        endMs >= killMs[0] - clickLossMs,
    ),
  );
