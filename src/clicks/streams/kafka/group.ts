/**
 * Who counts which partitions, and their plans, kept by Kafka as the group's committed offsets: the offset says up to
 * where everything is counted, and the text beside it which stretch comes next. Brokers refuse a commit of anyone who is
 * no longer in the group's present generation, which is what makes a plan the owner's alone.
 */
import type { CountingStart } from '../../../engines/kafka/address.ts';
import { KafkaFenced } from '../../../engines/kafka/failures.ts';
import type { CommittedOffset, GroupTerm, KafkaGroup } from '../../../engines/kafka/group.ts';
import type { KafkaReader } from '../../../engines/kafka/reader.ts';
import { type CountingGroup, type CountingTerm, NotOurTurn, type Plan } from '../../consumed-stream.ts';
import { partitionName, partitionNumber } from './source.ts';

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

/** What an operator's tool has committed says nothing more than where to go on. */
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
