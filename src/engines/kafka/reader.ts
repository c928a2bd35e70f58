/**
 * Reads messages from any place of any partition, again and again if need be: it keeps no position and belongs to no
 * group. One request per broker fetches all that is wanted of the partitions it leads; a partition whose leader has
 * just changed gives nothing this time and is asked for at its new leader the next time.
 */
import { Base, type Connection, fetchV12, listOffsetsV6, ResponseError } from '@platformatic/kafka';
import { type Clock, sleep } from '../../base/clock.ts';
import { clientOptions, type KafkaAddress } from './address.ts';
import { isTransient, KafkaRefusal, KafkaUnavailable, within } from './failures.ts';

export interface KafkaReader {
  partitions(topic: string): Promise<number>;
  /**
   * What lies in the partitions from the given offsets on; waits for a moment when there is nothing. A message is given
   * whole, however large it is. Where the first offset is no longer kept, reading begins with the first one that is.
   */
  fetch(topic: string, from: ReadonlyMap<number, number>, options: FetchOptions): Promise<Fetched[]>;
  /**
   * The offset of each partition's first message from a time on, of its first one that is kept, or after its last. One
   * whose leader does not answer is left out; see `allOffsets`.
   */
  offsets(topic: string, at: 'earliest' | 'latest' | { readonly time: number }): Promise<Map<number, number>>;
  close(): Promise<void>;
}

export interface FetchOptions {
  readonly bytesMax: number;
  readonly waitMaxMs: number;
}

export interface Fetched {
  readonly partition: number;
  readonly messages: readonly IncomingMessage[];
  /** Where to go on. */
  readonly next: number;
  /** Where the partition ends at present. */
  readonly end: number;
}

export interface IncomingMessage {
  readonly offset: number;
  /** When it was written, in milliseconds since the Unix epoch. */
  readonly at: number;
  readonly key: Buffer | undefined;
  readonly value: Buffer;
}

const deadlineMs = 8_000;
const requestMaxMs = 6_000;
const attemptsMax = 5;
const attemptPauseMs = 200;
const answered = 0;
const outOfRange = 1;
const isControl = 1 << 5;
const namedTimes = { latest: -1n, earliest: -2n } as const;
/** Uncommitted reads: the producers use no transactions. */
const readAll = 0;
const noSession = { id: 0, epoch: -1 } as const;
const anyEpoch = -1;
/** Said of a time after which nothing was written. */
const none = -1;

type Response = fetchV12.FetchResponsePartition;

export function openKafkaReader(address: KafkaAddress, { clock }: { clock: Clock }): KafkaReader {
  const client = new Base(clientOptions(address, { name: 'reader', requestMaxMs, retries: 1 }));

  async function leadersOf(topic: string): Promise<number[]> {
    const { topics } = await client.metadata({ topics: [topic] });
    return topics.get(topic)?.partitions.map(({ leader }) => leader) ?? [];
  }

  /** Asks each leader for its share; one that leads nothing or does not answer is skipped, unless none answers. */
  async function atLeaders<Answer>(
    topic: string,
    partitions: readonly number[],
    ask: (connection: Connection, partitions: readonly number[]) => Promise<Answer>,
  ): Promise<Answer[]> {
    const leaders = await leadersOf(topic);
    const led = partitions.filter(partition => (leaders[partition] ?? -1) >= 0);
    if (led.length < partitions.length) client.clearMetadata();
    const shares = Map.groupBy(led, partition => leaders[partition]!);
    const answers = await Promise.allSettled(
      [...shares].map(async ([leader, share]) => {
        const broker = client.currentMetadata?.brokers.get(leader);
        if (broker === undefined) throw new KafkaUnavailable(`nobody knows where broker ${leader} is`);
        return ask(await client.connections.get(broker), share);
      }),
    );
    const failure = answers.find(({ status }) => status === 'rejected');
    if (failure !== undefined) client.clearMetadata();
    const given = answers.flatMap(answer => (answer.status === 'fulfilled' ? [answer.value] : []));
    if (given.length === 0 && failure?.status === 'rejected') throw failure.reason;
    return given;
  }

  async function fetchOnce(
    topic: string,
    from: ReadonlyMap<number, number>,
    { bytesMax, waitMaxMs }: FetchOptions,
  ): Promise<Response[]> {
    const responses = await atLeaders(topic, [...from.keys()], async (connection, share) => {
      const wanted = share.map(partition => ({
        partition,
        currentLeaderEpoch: anyEpoch,
        fetchOffset: BigInt(from.get(partition)!),
        lastFetchedEpoch: anyEpoch,
        partitionMaxBytes: bytesMax,
      }));
      const { id, epoch } = noSession;
      const topics = [{ topicId: topic, partitions: wanted }];
      const answer = await fetchV12.api
        .async(connection, waitMaxMs, 1, bytesMax, readAll, id, epoch, topics, [], '')
        .catch(partlyRefused);
      return answer.responses.flatMap(({ partitions }) => partitions);
    });
    return responses.flat();
  }

  /** A partition that has just been made, or has just changed its leader, answers after a moment. */
  async function offsetsAt(topic: string, timestamp: bigint): Promise<Map<number, number>> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await offsetsNow(topic, timestamp);
      } catch (error) {
        if (attempt === attemptsMax || !isTransient(error)) throw error;
        await sleep(clock, attemptPauseMs);
      }
    }
  }

  async function offsetsNow(topic: string, timestamp: bigint): Promise<Map<number, number>> {
    const partitions = (await leadersOf(topic)).map((_, partition) => partition);
    const answers = await atLeaders(topic, partitions, async (connection, share) => {
      const wanted = share.map(partition => ({
        partitionIndex: partition,
        currentLeaderEpoch: anyEpoch,
        timestamp,
      }));
      const topics = [{ name: topic, partitions: wanted }];
      return (await listOffsetsV6.api.async(connection, -1, readAll, topics)).topics;
    });
    const found = answers.flat().flatMap(each => each.partitions);
    return new Map(found.map(({ partitionIndex, offset }) => [partitionIndex, Number(offset)]));
  }

  /** The offset was deleted, or never reached: the first resolves with time, the second never does. */
  async function pastTheGap(topic: string, partition: number, from: number): Promise<Fetched> {
    const earliest = (await offsetsAt(topic, namedTimes.earliest)).get(partition);
    const end = (await offsetsAt(topic, namedTimes.latest)).get(partition);
    if (earliest === undefined || end === undefined)
      throw new KafkaUnavailable(`${topic}/${partition} has no leader`);
    if (from > end) {
      const reason = `${topic}/${partition} ends at ${end}, before ${from}: the topic was recreated`;
      throw new KafkaRefusal('OFFSET_OUT_OF_RANGE', reason, undefined);
    }
    return { partition, messages: [], next: Math.max(from, earliest), end };
  }

  return {
    partitions: topic =>
      within(clock, deadlineMs, `asking about ${topic}`, async () => (await leadersOf(topic)).length),

    fetch: (topic, from, options) =>
      within(clock, deadlineMs, `reading ${topic}`, async () => {
        if (from.size === 0) return [];
        const fetched: Fetched[] = [];
        for (const response of await fetchOnce(topic, from, options)) {
          const { errorCode, partitionIndex: partition } = response;
          if (errorCode === answered) fetched.push(fetchedOf(response, from.get(partition)!));
          else if (errorCode === outOfRange)
            fetched.push(await pastTheGap(topic, partition, from.get(partition)!));
          else client.clearMetadata();
        }
        return fetched;
      }),

    offsets: (topic, at) =>
      within(clock, deadlineMs, `looking up offsets of ${topic}`, async () => {
        const offsets = await offsetsAt(topic, typeof at === 'string' ? namedTimes[at] : BigInt(at.time));
        if (![...offsets.values()].includes(none)) return offsets;
        const ends = await offsetsAt(topic, namedTimes.latest);
        for (const [partition, offset] of offsets) {
          const known = offset === none ? ends.get(partition) : offset;
          if (known === undefined) offsets.delete(partition);
          else offsets.set(partition, known);
        }
        return offsets;
      }),

    close: () => client.close().catch(() => undefined),
  };
}

/** Some partitions may have been refused: the answer says which, and holds the others. */
function partlyRefused(error: unknown): fetchV12.FetchResponse {
  if (error instanceof ResponseError && isWhole(error.response)) return error.response;
  throw error;
}

const isWhole = (response: fetchV12.FetchResponse | undefined): response is fetchV12.FetchResponse =>
  response?.errorCode === answered;

function fetchedOf({ partitionIndex, records, highWatermark }: Response, from: number): Fetched {
  const batches = (records ?? []).filter(({ attributes }) => (attributes & isControl) === 0);
  const messages = batches.flatMap(({ firstOffset, firstTimestamp, records: inBatch }) =>
    inBatch.map(({ offsetDelta, timestampDelta, key, value }) => ({
      offset: Number(firstOffset) + offsetDelta,
      at: Number(firstTimestamp + timestampDelta),
      key: key ?? undefined,
      value: value ?? Buffer.alloc(0),
    })),
  );
  const last = records?.at(-1);
  const next = last === undefined ? from : Number(last.firstOffset) + last.lastOffsetDelta + 1;
  return {
    partition: partitionIndex,
    // Brokers give whole batches, which may begin earlier.
    messages: messages.filter(({ offset }) => offset >= from),
    next: Math.max(from, next),
    end: Number(highWatermark),
  };
}
