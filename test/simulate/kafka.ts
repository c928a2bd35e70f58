/**
 * The simulated Kafka: topics with partitions, a producer whose messages keep their order, a reader, and a consumer
 * group with generations. A member that is silent for a session, joins or leaves begins a new generation; commits of an
 * earlier one are rejected. The queue of links is the memory queue, reached over the network.
 */
import type { KafkaEngine } from '../../src/clicks/open-click-path.ts';
import type { KafkaAddress } from '../../src/engines/kafka/address.ts';
import { KafkaFenced, KafkaUnavailable } from '../../src/engines/kafka/failures.ts';
import type { CommittedOffset, GroupTerm, KafkaGroup } from '../../src/engines/kafka/group.ts';
import type { KafkaProducer, OutgoingMessage } from '../../src/engines/kafka/producer.ts';
import type { IncomingMessage, KafkaReader } from '../../src/engines/kafka/reader.ts';
import type { LinkQueue, QueueConsumer } from '../../src/links/queue.ts';
import { createMemoryQueue, type MemoryQueue } from '../../src/links/queues/fake-memory.ts';
import { type Kernel, Party } from './kernel.ts';
import type { CallOptions, Network } from './network.ts';

interface Member {
  readonly party: Party;
  readonly life: number;
  seenMs: number;
}

interface Group {
  generation: number;
  readonly members: Map<number, Member>;
  readonly committed: Map<number, CommittedOffset>;
}

const sendMaxMs = 3_000;
const askMaxMs = 5_000;
const sessionMs = 10_000;
const beatMs = 2_000;
const messagesPerFetch = 50;

export class SimKafka {
  readonly party: Party;
  readonly #kernel: Kernel;
  readonly #network: Network;
  readonly #topics = new Map<string, IncomingMessage[][]>();
  readonly #groups = new Map<string, Group>();
  readonly queue: MemoryQueue;
  #lastId = 0;

  constructor(kernel: Kernel, network: Network) {
    this.#kernel = kernel;
    this.#network = network;
    this.party = new Party(kernel, 'kafka');
    this.queue = createMemoryQueue(this.party.clock());
  }

  engineFor(party: Party): KafkaEngine {
    return {
      openProducer: () => this.#producer(party),
      openReader: () => this.#reader(party),
      openGroup: address => this.#group(party, address),
      ensureTopic: (_address, { topic, partitions }) =>
        this.#ask(party, () => {
          if (this.#topics.has(topic)) return false;
          this.#topics.set(
            topic,
            Array.from({ length: partitions }, () => []),
          );
          return true;
        }),
    };
  }

  #ask<Result>(party: Party, work: () => Result | Promise<Result>, timeoutMs = askMaxMs): Promise<Result> {
    return this.#network.call(party, this.party, work, optionsOf(timeoutMs));
  }

  #partitions(topic: string): IncomingMessage[][] {
    const partitions = this.#topics.get(topic);
    if (partitions === undefined) throw new KafkaUnavailable(`${topic} has no leader`);
    return partitions;
  }

  #producer(party: Party): KafkaProducer {
    let sends = 0;
    /** The latest executed send: brokers reject an earlier one that arrives after it. */
    let executed = 0;
    const append = ({ topic, partition, key, value }: OutgoingMessage) => {
      const partitions = this.#partitions(topic);
      const place = partition % partitions.length;
      const messages = partitions[place]!;
      messages.push({
        offset: messages.length,
        at: Math.floor(this.#kernel.nowMs),
        key: key === undefined ? undefined : Buffer.from(key),
        value: Buffer.from(value),
      });
      return { partition: place, offset: messages.length - 1 };
    };
    return {
      send: (messages, deadlineMs = sendMaxMs) => {
        sends += 1;
        const number = sends;
        return this.#ask(
          party,
          () => {
            if (number < executed) throw new KafkaUnavailable('out of order');
            executed = number;
            return messages.map(append);
          },
          deadlineMs,
        );
      },
      close: async () => {},
    };
  }

  #reader(party: Party): KafkaReader {
    return {
      partitions: topic => this.#ask(party, () => this.#partitions(topic).length),
      fetch: async (topic, from, { waitMaxMs }) => {
        const fetched = await this.#ask(party, () =>
          [...from].map(([partition, offset]) => {
            const all = this.#partitions(topic)[partition] ?? [];
            const messages = all.slice(offset, offset + messagesPerFetch);
            return { partition, messages, next: offset + messages.length, end: all.length };
          }),
        );
        if (fetched.every(({ messages }) => messages.length === 0) && waitMaxMs > 0)
          await new Promise<void>(resolve => party.after(waitMaxMs, resolve));
        return fetched;
      },
      offsets: (topic, at) =>
        this.#ask(
          party,
          () =>
            new Map(
              this.#partitions(topic).map((messages, partition) => {
                if (at === 'earliest') return [partition, 0];
                if (at === 'latest') return [partition, messages.length];
                const found = messages.find(message => message.at >= at.time);
                return [partition, found?.offset ?? messages.length];
              }),
            ),
        ),
      close: async () => {},
    };
  }

  #groupOf(name: string): Group {
    const group = this.#groups.get(name) ?? { generation: 0, members: new Map(), committed: new Map() };
    this.#groups.set(name, group);
    const silentMs = this.#kernel.nowMs - sessionMs;
    for (const [id, { seenMs }] of group.members) {
      if (seenMs >= silentMs) continue;
      group.members.delete(id);
      group.generation += 1;
    }
    return group;
  }

  #group(party: Party, { group: name, topic }: KafkaAddress): KafkaGroup {
    const life = party.life;
    let id: number | undefined;
    let term: (GroupTerm & { isCurrent: boolean }) | undefined;
    const end = (): void => {
      if (term !== undefined) term.isCurrent = false;
    };
    const beat = (): void => {
      party.after(beatMs, () => {
        if (id === undefined) return;
        const beating = id;
        this.#ask(party, () => {
          const group = this.#groupOf(name);
          const member = group.members.get(beating);
          if (member !== undefined) member.seenMs = this.#kernel.nowMs;
          return member === undefined ? -1 : group.generation;
        }).then(generation => {
          if (generation !== term?.generation) end();
        }, end);
        beat();
      });
    };
    return {
      term: async () => {
        if (term?.isCurrent === true) return term;
        if (id === undefined) {
          this.#lastId += 1;
          id = this.#lastId;
          beat();
        }
        const joining = id;
        const { generation, partitions } = await this.#ask(party, () => {
          const group = this.#groupOf(name);
          if (!group.members.has(joining)) {
            group.members.set(joining, { party, life, seenMs: this.#kernel.nowMs });
            group.generation += 1;
          }
          const place = [...group.members.keys()].indexOf(joining);
          const all = this.#partitions(topic).keys();
          return {
            generation: group.generation,
            partitions: [...all].filter(
              partition => (partition + group.generation) % group.members.size === place,
            ),
          };
        });
        term = {
          generation,
          partitions,
          isCurrent: true,
          committed: () =>
            this.#ask(party, () => {
              const { committed } = this.#groupOf(name);
              return new Map([...committed].filter(([partition]) => partitions.includes(partition)));
            }),
          commit: offsets =>
            this.#ask(party, () => {
              const group = this.#groupOf(name);
              if (group.generation !== generation || !group.members.has(joining))
                throw new KafkaFenced('an earlier generation');
              for (const [partition, offset] of offsets) group.committed.set(partition, offset);
            }).catch(error => {
              end();
              throw error;
            }),
        };
        return term;
      },
      close: async () => {
        const leaving = id;
        id = undefined;
        end();
        if (leaving === undefined) return;
        await this.#ask(party, () => {
          const group = this.#groupOf(name);
          if (group.members.delete(leaving)) group.generation += 1;
        }).catch(() => undefined);
      },
    };
  }

  /** The queue of links. Messages of a dead consumer go to the others after its session. */
  queueFor(party: Party): LinkQueue {
    const life = party.life;
    const { queue } = this;
    return {
      append: messages => this.#ask(party, () => queue.append(messages), sendMaxMs),
      behind: () => this.#ask(party, () => queue.behind()),
      waiting: async function* (this: SimKafka) {
        yield* await this.#ask(party, () => Array.fromAsync(queue.waiting()));
      }.bind(this),
      consume: () => this.#consumer(party, life),
      deadLetter: letters => this.#ask(party, () => queue.deadLetter(letters)),
      close: async () => {},
    };
  }

  #consumer(party: Party, life: number): QueueConsumer {
    let consumer = this.queue.consume();
    const watch = (): void => {
      this.#kernel.outside.after(sessionMs, () => {
        if (party.life === life) watch();
        else void consumer.close();
      });
    };
    watch();
    return {
      take: async (max, waitMs) => {
        const taken = await this.#ask(party, () => consumer.take(max, 0)).catch(error => {
          // Messages that were taken but never arrived become available again.
          const lost = consumer;
          consumer = this.queue.consume();
          void lost.close();
          throw error;
        });
        if (taken.length === 0) await new Promise<void>(resolve => party.after(waitMs, resolve));
        return taken;
      },
      finish: () => this.#ask(party, () => consumer.finish()),
      close: () => this.#ask(party, () => consumer.close()).catch(() => undefined),
    };
  }
}

const optionsOf = (timeoutMs: number): CallOptions => ({
  timeoutMs,
  failure: (lost, reason) =>
    Object.assign(new KafkaUnavailable(reason), lost === 'none' && { outcome: 'none' as const }),
});
