/**
 * Membership in a consumer group: which partitions are ours to count, under which generation of the group, and what was
 * planned for each. The library joins, beats and joins again; commits are sent from here, because they carry a plan and
 * must fail rather than be repeated under a later generation, in which the partition may belong to another member.
 *
 * A term is one generation of one membership. It is over when the group changes hands, and also as soon as it is not
 * known what became of a commit: then the group is left and joined again, and a commit that is still on its way
 * somewhere comes too late, since the brokers refuse those of earlier generations.
 */
import { Admin, Consumer, offsetCommitV8 } from '@platformatic/kafka';
import type { Clock } from '../../base/clock.ts';
import { clientOptions, type KafkaAddress } from './address.ts';
import { failureOf, KafkaFenced, KafkaUnavailable, within } from './failures.ts';

export interface KafkaGroup {
  /** The present term; joins the group when there is none. Resolves once the group has given us our partitions. */
  term(): Promise<GroupTerm>;
  /** Leaves, so that others need not wait for our session timeout. */
  close(): Promise<void>;
}

export interface GroupTerm {
  readonly generation: number;
  readonly partitions: readonly number[];
  /** False once it is known to be over; it may be over before that. */
  readonly isCurrent: boolean;
  /** What was last committed for these partitions by their owners; those without a commit are left out. */
  committed(): Promise<Map<number, CommittedOffset>>;
  /** Throws, and the term is over, unless it is certain that this is what was committed last. */
  commit(offsets: ReadonlyMap<number, CommittedOffset>): Promise<void>;
}

export interface CommittedOffset {
  readonly offset: number;
  readonly metadata: string;
}

/** Of those partitions that have a commit. */
export async function committedOffsets(
  admin: Admin,
  { topic, group: groupId }: KafkaAddress,
  partitions: readonly number[],
  requireStable: boolean,
): Promise<Map<number, CommittedOffset>> {
  const topics = [{ name: topic, partitionIndexes: [...partitions] }];
  const groups = await admin.listConsumerGroupOffsets({ groups: [{ groupId, topics }], requireStable });
  const found = groups.flatMap(each => each.topics).flatMap(each => each.partitions);
  return new Map(
    found
      .filter(({ committedOffset }) => committedOffset >= 0n)
      .map(({ partitionIndex, committedOffset, metadata }) => [
        partitionIndex,
        { offset: Number(committedOffset), metadata: metadata ?? '' },
      ]),
  );
}

export interface KafkaGroupOptions {
  readonly clock: Clock;
  /** The session timeout: a member without heartbeats for this long counts as dead. */
  readonly sessionMaxMs?: number;
}

const sessionMaxMsDefault = 10_000;
const beatsPerSession = 5;
const requestMaxMs = 5_000;
/** Joining waits until every live member has joined and the others have timed out. */
const joinSlackMs = 5_000;

export function openKafkaGroup(
  address: KafkaAddress,
  { clock, sessionMaxMs = sessionMaxMsDefault }: KafkaGroupOptions,
): KafkaGroup {
  let membership: Membership | undefined;
  return {
    async term() {
      if (membership?.isOver === true) {
        const left = membership;
        membership = undefined;
        await left.leave();
      }
      membership ??= new Membership(address, clock, sessionMaxMs);
      return membership.term();
    },
    async close() {
      await membership?.leave();
      membership = undefined;
    },
  };
}

type Term = Omit<GroupTerm, 'isCurrent'> & { isCurrent: boolean };

class Membership {
  readonly #address: KafkaAddress;
  readonly #clock: Clock;
  readonly #joinMaxMs: number;
  readonly #member: Consumer;
  readonly #admin: Admin;
  #joining: Promise<unknown> | undefined;
  #term: Term | undefined;
  #termlessSinceMs: number | undefined;
  isOver = false;

  constructor(address: KafkaAddress, clock: Clock, sessionMaxMs: number) {
    this.#address = address;
    this.#clock = clock;
    this.#joinMaxMs = sessionMaxMs + joinSlackMs;
    this.#member = new Consumer({
      ...clientOptions(address, { name: 'member', requestMaxMs: this.#joinMaxMs, retries: 1 }),
      groupId: address.group,
      sessionTimeout: sessionMaxMs,
      rebalanceTimeout: sessionMaxMs,
      heartbeatInterval: Math.floor(sessionMaxMs / beatsPerSession),
      heartbeatStallTimeout: sessionMaxMs,
      autocommit: false,
    });
    this.#admin = new Admin(clientOptions(address, { name: 'plans', requestMaxMs, retries: 1 }));
    this.#member.topics.track(address.topic);
    const over = () => this.#end();
    this.#member.on('consumer:group:join', ({ generationId, memberId, assignments }) => {
      const mine = assignments?.find(({ topic }) => topic === address.topic)?.partitions ?? [];
      this.#endTerm();
      this.#term = this.#termOf(generationId ?? 0, memberId, mine);
    });
    this.#member.on('consumer:group:rebalance', () => this.#endTerm());
    this.#member.on('consumer:heartbeat:stalled', over);
    this.#member.on('error', over);
  }

  async term(): Promise<Term> {
    try {
      this.#joining ??= within(this.#clock, this.#joinMaxMs, `joining ${this.#address.group}`, () =>
        this.#member.joinGroup({}),
      );
      await this.#joining;
      if (this.#term?.isCurrent === true) return this.#term;
      // Between two generations we have none; the library is joining again.
      throw new KafkaFenced('the group is changing hands');
    } catch (error) {
      const isChanging = error instanceof KafkaFenced && !this.#isLost();
      if (!isChanging) this.#end();
      throw failureOf(error);
    }
  }

  /** Whether joining again takes longer than it ever should. */
  #isLost(): boolean {
    this.#termlessSinceMs ??= this.#clock.monotonicMs();
    return this.#clock.monotonicMs() - this.#termlessSinceMs > this.#joinMaxMs;
  }

  async leave(): Promise<void> {
    this.#end();
    await Promise.allSettled([
      within(this.#clock, requestMaxMs, 'leaving the group', () => this.#member.close(true)),
      within(this.#clock, requestMaxMs, 'leaving the group', () => this.#admin.close()),
    ]);
  }

  #end(): void {
    this.isOver = true;
    this.#endTerm();
  }

  #endTerm(): void {
    if (this.#term !== undefined) this.#term.isCurrent = false;
    this.#termlessSinceMs = undefined;
  }

  #termOf(generation: number, memberId: string, partitions: readonly number[]): Term {
    const term: Term = {
      generation,
      partitions,
      isCurrent: true,
      committed: () => this.#committed(partitions),
      commit: async offsets => {
        if (!term.isCurrent) throw new KafkaFenced('the term is over');
        try {
          await this.#commit(generation, memberId, offsets);
        } catch (error) {
          term.isCurrent = false;
          // Otherwise what was committed is unknown.
          if (!(error instanceof KafkaFenced)) this.#end();
          throw error;
        }
      },
    };
    return term;
  }

  #committed(partitions: readonly number[]): Promise<Map<number, CommittedOffset>> {
    return within(this.#clock, requestMaxMs, 'reading plans', () =>
      // Stable: what the one before us has committed and the brokers have not yet copied is waited for.
      committedOffsets(this.#admin, this.#address, partitions, true),
    );
  }

  async #commit(
    generation: number,
    memberId: string,
    offsets: ReadonlyMap<number, CommittedOffset>,
  ): Promise<void> {
    const { topic, group } = this.#address;
    const partitions = [...offsets].map(([partitionIndex, { offset, metadata }]) => ({
      partitionIndex,
      committedOffset: BigInt(offset),
      committedLeaderEpoch: -1,
      committedMetadata: metadata,
    }));
    await within(this.#clock, requestMaxMs, 'committing a plan', async () => {
      const coordinator = this.#member.currentMetadata?.brokers.get(
        await this.#member.findGroupCoordinator(),
      );
      if (coordinator === undefined) throw new KafkaUnavailable('nobody knows who coordinates the group');
      const connection = await this.#member.connections.get(coordinator);
      const topics = [{ name: topic, partitions }];
      await offsetCommitV8.api.async(connection, group, generation, memberId, null, topics);
    });
  }
}
