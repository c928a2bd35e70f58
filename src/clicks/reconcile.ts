/**
 * Checks the counts by arithmetic. Every producer numbers its clicks and keeps the newest number where it survives a
 * crash; the warehouse knows which numbers it counted. Every other number is dropped (skipped), missing (a dead
 * producer's last numbers that never reached the log), or pending.
 *
 * The sources cannot be read at one moment. Hours that this may affect are `settling` and not part of the drift; for
 * all others, recorded, dropped, missing and pending add up to what was produced, or the counts are wrong.
 */
import { type ProducerHead, producerOf } from './log.ts';
import type { CountedProducer, LedgerRow } from './warehouse.ts';

export interface ReconcileInput {
  readonly heads: readonly ProducerHead[];
  /** The counted numbers before the ledger was read, and after. */
  readonly counted: readonly CountedProducer[];
  readonly countedAfter: readonly CountedProducer[];
  /** All of it: producers are accounted for from their first click. */
  readonly ledger: readonly LedgerRow[];
  /** Every click before this time was counted or lost when the ledger was read; see settling.ts. */
  readonly settledUntil: number;
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
  /** Numbered but never stored, by a producer that is dead. */
  readonly missing: number;
  /** Numbered by a living producer and not counted yet. */
  readonly pending: number;
  /** The producer is active, or its newest number was read at another time than the counts. */
  readonly settling: boolean;
}

export interface HourAccount {
  readonly hour: number;
  readonly producer: string;
  readonly recorded: number;
  readonly dropped: number;
  readonly duplicates: number;
  readonly missing: number;
  /** Clicks of this hour may still arrive. */
  readonly settling: boolean;
}

export interface Reconciliation {
  readonly producers: readonly ProducerAccount[];
  readonly hours: readonly HourAccount[];
  readonly totals: Omit<ProducerAccount, 'producer' | 'alive'>;
  /** Share of the clicks of the listed hours that were lost: dropped or missing. Hours that are settling do not count. */
  readonly drift: number;
  /** See settling.ts. */
  readonly settledUntil: number;
}

const hourMs = 60 * 60_000;

type Amount = Exclude<keyof Reconciliation['totals'], 'settling'>;

export function reconcile({
  heads,
  counted,
  countedAfter,
  ledger,
  settledUntil,
  from,
  to,
}: ReconcileInput): Reconciliation {
  const [sequences, sequencesAfter] = [sequencesOf(counted), sequencesOf(countedAfter)];
  const rows = Map.groupBy(ledger, ({ producer }) => producerOf(producer));
  const producers = heads.map(head => {
    const sequence = sequences.get(head.producer) ?? 0;
    const hasMoved = (sequencesAfter.get(head.producer) ?? 0) !== sequence;
    return accountOf(head, sequence, hasMoved, rows.get(head.producer) ?? []);
  });
  const sum = (field: Amount): number => producers.reduce((total, account) => total + account[field], 0);
  const totals = {
    produced: sum('produced'),
    recorded: sum('recorded'),
    dropped: sum('dropped'),
    duplicates: sum('duplicates'),
    missing: sum('missing'),
    pending: sum('pending'),
    settling: producers.some(({ settling }) => settling),
  };
  const hours = hoursOf(ledger, heads, producers, settledUntil).filter(
    ({ hour }) => hour + hourMs > from && hour < to,
  );
  return {
    producers,
    hours,
    totals,
    drift: driftOf(hours),
    settledUntil,
  };
}

/** Undefined while none of the listed hours is settled: a drift of 0 would then say nothing. */
export const knownDrift = ({ hours, drift }: Pick<Reconciliation, 'hours' | 'drift'>): number | undefined =>
  hours.some(({ settling }) => !settling) ? drift : undefined;

/** The counted numbers of each producer; those of its partitions are added up. */
function sequencesOf(counted: readonly CountedProducer[]): Map<string, number> {
  const sequences = new Map<string, number>();
  for (const { producer, sequence } of counted) {
    sequences.set(producerOf(producer), (sequences.get(producerOf(producer)) ?? 0) + sequence);
  }
  return sequences;
}

function driftOf(hours: readonly HourAccount[]): number {
  let [kept, lost] = [0, 0];
  for (const { recorded, dropped, missing, settling } of hours) {
    if (settling) continue;
    kept += recorded;
    lost += dropped + missing;
  }
  return lost === 0 ? 0 : lost / (kept + lost);
}

function accountOf(
  head: ProducerHead,
  countedSequence: number,
  hasMoved: boolean,
  rows: readonly LedgerRow[],
): ProducerAccount {
  const sum = (field: 'counted' | 'skipped' | 'duplicates'): number =>
    rows.reduce((total, row) => total + row[field], 0);
  const open = Math.max(0, head.sequence - countedSequence);
  return {
    producer: head.producer,
    alive: head.alive,
    // Counted clicks were produced, even if the last report of the producer is older.
    produced: Math.max(head.sequence, countedSequence),
    recorded: sum('counted'),
    dropped: sum('skipped'),
    duplicates: sum('duplicates'),
    missing: head.alive ? 0 : open,
    pending: head.alive ? open : 0,
    settling: hasMoved || (head.alive && head.sequence !== countedSequence),
  };
}

function hoursOf(
  ledger: readonly LedgerRow[],
  heads: readonly ProducerHead[],
  producers: readonly ProducerAccount[],
  settledUntil: number,
): HourAccount[] {
  const isSettling = (hour: number): boolean => hour + hourMs > settledUntil;
  const hours = new Map<string, HourAccount>();
  for (const { hour, producer: name, counted, skipped, duplicates } of ledger) {
    const producer = producerOf(name);
    const before = hours.get(`${hour} ${producer}`);
    hours.set(`${hour} ${producer}`, {
      hour,
      producer,
      recorded: (before?.recorded ?? 0) + counted,
      dropped: (before?.dropped ?? 0) + skipped,
      duplicates: (before?.duplicates ?? 0) + duplicates,
      missing: 0,
      settling: isSettling(hour),
    });
  }
  for (const [index, { producer, missing }] of producers.entries()) {
    if (missing === 0) continue;
    // Its last click shows when it died.
    const hour = Math.floor(heads[index]!.lastClickAt / hourMs) * hourMs;
    const known = hours.get(`${hour} ${producer}`);
    const empty = { hour, producer, recorded: 0, dropped: 0, duplicates: 0, settling: isSettling(hour) };
    hours.set(`${hour} ${producer}`, { ...(known ?? empty), missing });
  }
  return [...hours.values()].sort((a, b) => a.hour - b.hour || (a.producer < b.producer ? -1 : 1));
}
