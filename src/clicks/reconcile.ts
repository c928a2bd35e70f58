/**
 * Whether the numbers are right, as a matter of arithmetic. Every producer numbers its clicks and keeps the
 * newest number where a crash cannot take it; the warehouse knows which numbers it counted. What lies between is
 * named: dropped (skipped numbers), missing (a dead producer's last numbers that never reached the log), or
 * still on its way.
 */
import { noterOf, type ProducerHead } from './stream.ts';
import type { CountedProducer, LedgerRow } from './warehouse.ts';

export interface ReconcileInput {
  readonly heads: readonly ProducerHead[];
  readonly counted: readonly CountedProducer[];
  /** All of it: producers are accounted for from their first click. */
  readonly ledger: readonly LedgerRow[];
  /** The hours to list and to judge the drift by. */
  readonly from: number;
  readonly to: number;
}

export interface ProducerAccount {
  readonly producer: string;
  readonly alive: boolean;
  readonly produced: number;
  readonly recorded: number;
  readonly dropped: number;
  readonly duplicates: number;
  /** Noted, never stored, and nobody left to store them. */
  readonly missing: number;
  /** Noted by a living producer and on their way. */
  readonly pending: number;
}

export interface HourAccount {
  readonly hour: number;
  readonly producer: string;
  readonly recorded: number;
  readonly dropped: number;
  readonly duplicates: number;
  readonly missing: number;
}

export interface Reconciliation {
  readonly producers: readonly ProducerAccount[];
  readonly hours: readonly HourAccount[];
  readonly totals: Omit<ProducerAccount, 'producer' | 'alive'>;
  /** Share of the clicks of the listed hours that were lost: dropped or missing. */
  readonly drift: number;
}

const hourMs = 60 * 60_000;

export function reconcile({ heads, counted, ledger, from, to }: ReconcileInput): Reconciliation {
  // Of a producer that numbers its clicks for each partition apart, the pairs add up to it.
  const sequences = new Map<string, number>();
  for (const { producer, sequence } of counted) {
    sequences.set(noterOf(producer), (sequences.get(noterOf(producer)) ?? 0) + sequence);
  }
  const rows = Map.groupBy(ledger, ({ producer }) => noterOf(producer));
  const producers = heads.map(head =>
    accountOf(head, sequences.get(head.producer) ?? 0, rows.get(head.producer) ?? []),
  );
  const sum = (field: keyof Reconciliation['totals']): number =>
    producers.reduce((total, account) => total + account[field], 0);
  const totals = {
    produced: sum('produced'),
    recorded: sum('recorded'),
    dropped: sum('dropped'),
    duplicates: sum('duplicates'),
    missing: sum('missing'),
    pending: sum('pending'),
  };
  const hours = hoursOf(ledger, heads, producers).filter(({ hour }) => hour + hourMs > from && hour < to);
  return {
    producers,
    hours,
    totals,
    drift: driftOf(hours),
  };
}

function driftOf(hours: readonly HourAccount[]): number {
  let [kept, lost] = [0, 0];
  for (const { recorded, dropped, missing } of hours) {
    kept += recorded;
    lost += dropped + missing;
  }
  return lost === 0 ? 0 : lost / (kept + lost);
}

function accountOf(head: ProducerHead, countedSequence: number, rows: readonly LedgerRow[]): ProducerAccount {
  const sum = (field: 'counted' | 'skipped' | 'duplicates'): number =>
    rows.reduce((total, row) => total + row[field], 0);
  const open = Math.max(0, head.sequence - countedSequence);
  return {
    producer: head.producer,
    alive: head.alive,
    produced: head.sequence,
    recorded: sum('counted'),
    dropped: sum('skipped'),
    duplicates: sum('duplicates'),
    missing: head.alive ? 0 : open,
    pending: head.alive ? open : 0,
  };
}

function hoursOf(
  ledger: readonly LedgerRow[],
  heads: readonly ProducerHead[],
  producers: readonly ProducerAccount[],
): HourAccount[] {
  const hours = new Map<string, HourAccount>();
  for (const { hour, producer: name, counted, skipped, duplicates } of ledger) {
    const producer = noterOf(name);
    const before = hours.get(`${hour} ${producer}`);
    hours.set(`${hour} ${producer}`, {
      hour,
      producer,
      recorded: (before?.recorded ?? 0) + counted,
      dropped: (before?.dropped ?? 0) + skipped,
      duplicates: (before?.duplicates ?? 0) + duplicates,
      missing: 0,
    });
  }
  for (const [index, { producer, missing }] of producers.entries()) {
    if (missing === 0) continue;
    // The last click it noted tells when it died.
    const hour = Math.floor(heads[index]!.lastClickAt / hourMs) * hourMs;
    const known = hours.get(`${hour} ${producer}`);
    const empty = { hour, producer, recorded: 0, dropped: 0, duplicates: 0 };
    hours.set(`${hour} ${producer}`, { ...(known ?? empty), missing });
  }
  return [...hours.values()].sort((a, b) => a.hour - b.hour || (a.producer < b.producer ? -1 : 1));
}
