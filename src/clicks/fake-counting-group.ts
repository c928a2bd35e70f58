/**
 * A log and a group in memory, for tests of which member counts what. It assigns partitions as Kafka does: a member
 * that joins or leaves begins a new generation, in which any member may get any partition. Commits of earlier
 * generations are rejected, also from members that do not know of the new one yet.
 */

import { sampleBatch, samplesStart } from './batch-samples.ts';
import { clickCount } from './click.ts';
import { type CountingGroup, type CountingTerm, NotOurTurn, type Plan } from './consumer-partition.ts';
import { type ClickLog, type LogItem, pairName } from './log.ts';

export interface FakeMember extends CountingGroup {
  /** Removes the member from the group, dead or not; the member does not know it yet. */
  expel(): void;
}

export class FakeCountedLog implements Pick<ClickLog, 'read'> {
  readonly #partitions: Map<string, LogItem[]>;
  readonly #committed = new Map<string, Plan>();
  readonly #members = new Set<object>();
  #generation = 0;
  appended = 0;
  /** How many messages of each partition one read returns at most. */
  messagesPerTake = 3;

  constructor(partitions: number) {
    this.#partitions = new Map(Array.from({ length: partitions }, (_, n) => [`topic/${n}`, []]));
  }

  append(partition: string, clicks: number): void {
    const items = this.#partitions.get(partition)!;
    const first = items.reduce((sum, { batch }) => sum + clickCount(batch), 0) + 1;
    const batch = sampleBatch(
      first,
      Array.from({ length: clicks }, () => ({ at: samplesStart })),
    );
    const producer = pairName('producer', Number(partition.split('/')[1]));
    items.push({ offset: items.length, storedAt: samplesStart, producer, batch });
    this.appended += clicks;
  }

  get names(): string[] {
    return [...this.#partitions.keys()];
  }

  planOf(partition: string): Plan | undefined {
    return this.#committed.get(partition);
  }

  async read(positions: ReadonlyMap<string, number>) {
    return new Map(
      [...positions].map(([name, position]) => {
        const all = this.#partitions.get(name)!;
        const items = all.slice(position, position + this.messagesPerTake);
        return [name, { items, to: position + items.length, end: all.length }];
      }),
    );
  }

  /** A new member. It has no partitions until it asks for its term. */
  join(): FakeMember {
    const member = {};
    let term: { readonly generation: number; readonly counting: CountingTerm } | undefined;
    return {
      term: async () => {
        if (!this.#members.has(member)) this.#change(() => this.#members.add(member));
        if (term?.generation !== this.#generation) term = this.#termOf(member);
        return term.counting;
      },
      close: async () => this.#change(() => this.#members.delete(member)),
      expel: () => this.#change(() => this.#members.delete(member)),
    };
  }

  #change(change: () => void): void {
    change();
    this.#generation += 1;
  }

  #termOf(member: object): { generation: number; counting: CountingTerm } {
    const generation = this.#generation;
    const members = [...this.#members];
    const place = members.indexOf(member);
    const mine = this.names.filter((_, index) => (index + generation) % members.length === place);
    const counting: CountingTerm = {
      // A member learns of the end only when it asks.
      isCurrent: true,
      plans: async () => new Map(mine.map(name => [name, this.#committed.get(name) ?? { from: 0 }])),
      commit: async plans => {
        if (generation !== this.#generation) throw new NotOurTurn('an earlier generation');
        for (const [name, plan] of plans) this.#committed.set(name, plan);
      },
    };
    return { generation, counting };
  }
}
