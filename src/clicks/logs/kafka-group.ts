/**
 * Who counts which partitions, and their plans, kept by Kafka as the group's committed offsets: the offset says up to
 * where everything is counted, and the text beside it which stretch comes next. Brokers reject a commit of a process
 * that is no longer in the group's present generation, so only the owner can write a plan.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import type { CountingStart } from '../../engines/kafka/address.ts';
import { KafkaFenced } from '../../engines/kafka/failures.ts';
import type { CommittedOffset, GroupTerm, KafkaGroup } from '../../engines/kafka/group.ts';
import type { GroupProgress } from '../../engines/kafka/offsets.ts';
import type { KafkaReader } from '../../engines/kafka/reader.ts';
import { type CountingGroup, type CountingTerm, NotOurTurn, type Plan } from '../consumer-partition.ts';
import type { CountingPause } from '../warehouse.ts';
import { partitionName, partitionNumber } from './kafka.ts';

export interface KafkaCountingOptions {
  readonly group: KafkaGroup;
  readonly reader: KafkaReader;
  readonly topic: string;
  /** Where a group begins that has planned nothing yet. */
  readonly since: CountingStart;
}

export function createKafkaCountingGroup(options: KafkaCountingOptions): CountingGroup {
  const { group } = options;
  let known: { readonly term: GroupTerm; readonly counting: CountingTerm } | undefined;
  return {
    async term() {
      const term = await group.term().catch(turnOf);
      if (known?.term !== term) known = { term, counting: countingTerm(term, options) };
      return known.counting;
    },
    close: () => group.close(),
  };
}

function countingTerm(term: GroupTerm, { reader, topic, since }: KafkaCountingOptions): CountingTerm {
  /** By partition; those that begin with all there is are left out. */
  async function starts(): Promise<ReadonlyMap<number, number>> {
    if (since === 'earliest') return new Map();
    if ('offset' in since) return new Map(term.partitions.map(partition => [partition, since.offset]));
    return reader.offsets(topic, since);
  }

  return {
    get isCurrent() {
      return term.isCurrent;
    },
    async plans() {
      const committed = await term.committed();
      const isAllPlanned = term.partitions.every(partition => committed.has(partition));
      const begin = isAllPlanned ? new Map<number, number>() : await starts();
      return new Map(
        term.partitions.map(partition => {
          const offset = committed.get(partition);
          const plan = offset === undefined ? { from: 0, since: begin.get(partition) } : planOf(offset);
          return [partitionName(topic, partition), plan];
        }),
      );
    },
    async commit(plans) {
      const offsets = [...plans].map(([name, plan]): [number, CommittedOffset] => [
        partitionNumber(name),
        { offset: plan.from, metadata: metadataOf(plan) },
      ]);
      await term.commit(new Map(offsets)).catch(turnOf);
    },
  };
}

/** Such as `to=1200` or `to=1200 since=1000`; empty when nothing is planned. */
export function metadataOf({ to, since }: Plan): string {
  const parts = [
    ...(to === undefined ? [] : [`to=${to}`]),
    ...(since === undefined ? [] : [`since=${since}`]),
  ];
  return parts.join(' ');
}

/** A commit made by an operator's tool says only where to continue. */
export function planOf({ offset, metadata }: CommittedOffset): Plan {
  const [, to, since] = /^(?:to=(\d{1,16}))? ?(?:since=(\d{1,16}))?$/.exec(metadata) ?? [];
  return {
    from: offset,
    ...(to !== undefined && { to: Number(to) }),
    ...(since !== undefined && { since: Number(since) }),
  };
}

function turnOf(error: unknown): never {
  throw error instanceof KafkaFenced ? new NotOurTurn(error.message, { cause: error }) : error;
}

/**
 * A pause in which no process counts what is in Kafka. Consumers are asked to plan nothing; once every plan is
 * finished, nothing is on its way into the warehouse, even if some processes died or hang: other processes have counted
 * what those had planned. Correctness does not depend on consumers that obey, because a plan that was made in the
 * meantime shows.
 */
export interface KafkaPauseOptions {
  readonly progress: Pick<GroupProgress, 'commits'>;
  readonly partitions: () => Promise<number>;
  readonly hold: { set(forMs: number): Promise<void>; clear(): Promise<void> };
  readonly clock: Clock;
}

/** By then every consumer has asked whether counting is held, since each asks every half second (consumer.ts). */
const receivedMs = 700;
/** Renewed for as long as it is needed, so that it ends soon after the process that asked for it. */
const holdMs = 30_000;
const renewMs = 10_000;
const pollMs = 200;
/** A killed consumer is detected after ten seconds, and then others have to count what it had planned. */
const finishMaxMs = 60_000;

export function createKafkaPause({ progress, partitions, hold, clock }: KafkaPauseOptions): CountingPause {
  type Plans = Awaited<ReturnType<typeof progress.commits>>;
  const plansNow = async (): Promise<Plans> => progress.commits(await partitions());

  async function finishedPlans(): Promise<Plans> {
    const untilMs = clock.monotonicMs() + finishMaxMs;
    for (;;) {
      const plans = await plansNow();
      if ([...plans.values()].every(commit => planOf(commit).to === undefined)) return plans;
      if (clock.monotonicMs() >= untilMs) {
        throw new Problem('stats_unavailable', {
          detail: 'Planned clicks are not being counted, so nothing was repaired. Is a worker running?',
        });
      }
      await sleep(clock, pollMs);
    }
  }

  return {
    async during(look, act) {
      await hold.set(holdMs);
      const stopRenewing = clock.every(renewMs, () => void hold.set(holdMs).catch(() => undefined));
      try {
        await sleep(clock, receivedMs);
        const before = await finishedPlans();
        await look();
        if (!areSame(before, await plansNow())) return false;
        await act();
        return true;
      } finally {
        stopRenewing();
        await hold.clear().catch(() => undefined);
      }
    },
  };
}

function areSame(
  before: ReadonlyMap<number, { offset: number; metadata: string }>,
  now: typeof before,
): boolean {
  return (
    before.size === now.size &&
    [...before].every(([partition, { offset, metadata }]) => {
      const other = now.get(partition);
      return other?.offset === offset && other.metadata === metadata;
    })
  );
}
