/**
 * A stream and a group in memory, for tests of who counts what. It gives partitions out as Kafka does: a member that comes
 * or goes begins a new generation, in which partitions may be anyone's, and commits of earlier ones are refused, also to
 * members that have not heard of it.
 */
import { clickCount } from './batch.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import {
  type BlockSource,
  type CountingGroup,
  type CountingTerm,
  NotOurTurn,
  type Plan,
  type StreamItem,
} from './consumed-stream.ts';
import { pairName } from './stream.ts';

export interface FakeMember extends CountingGroup {
  /** It is missed, whether it is dead or not, and has not heard of that. */
  expel(): void;
}

export class FakeCountedStream implements BlockSource {
  readonly #partitions: Map<string, StreamItem[]>;
  readonly #committed = new Map<string, Plan>();
  readonly #members = new Set<object>();
  #generation = 0;
  appended = 0;
  /** Messages that one read gives at most of each partition. */
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
    items.push({ position: items.length, storedAt: samplesStart, producer, batch });
    this.appended += clicks;
  }

  get names(): string[] {
    return [...this.#partitions.keys()];
  }

  planOf(partition: string): Plan | undefined {
    return this.#committed.get(partition);
  }

  async take(positions: ReadonlyMap<string, number>) {
    return new Map(
      [...positions].map(([name, position]) => {
        const all = this.#partitions.get(name)!;
        const items = all.slice(position, position + this.messagesPerTake);
        return [name, { items, to: position + items.length, end: all.length }];
      }),
    );
  }

  /** A member. It has nothing until it asks. */
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
      // Nobody hears of an end before asking.
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
