import { describe, expect, test } from 'bun:test';
import { seededRandom } from '../base/random.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import type { LogPartition, LogPiece } from './log.ts';
import { SettledTime, StoredUntil, settlingHours } from './settling.ts';

const second = 1_000;
/** How long a redirect may take until its click is recorded. */
const noteDelayMs = 30 * second;

/** Partitions whose positions are places in a list. */
class FakeLog {
  readonly frames = new Map<string, number[][]>();
  /** Where reading began, in order. */
  readonly reads: string[] = [];
  /** Frames in one read; one at a time, so that reading on is seen. */
  framesMax = 1;

  append(name: string, times: number[]): void {
    this.frames.set(name, [...(this.frames.get(name) ?? []), times]);
  }

  async partitions(): Promise<LogPartition[]> {
    return [...this.frames].map(([name, frames]) => ({ name, end: frames.length }));
  }

  async read(offsets: ReadonlyMap<string, number>): Promise<Map<string, LogPiece>> {
    return new Map([...offsets].map(([name, offset]) => [name, this.pieceAt(name, offset)]));
  }

  pieceAt(partition: string, offset: number): LogPiece {
    this.reads.push(`${partition} ${offset}`);
    const all = this.frames.get(partition) ?? [];
    const items = all.slice(offset, offset + this.framesMax).map((times, index) => ({
      offset: offset + index,
      storedAt: 0,
      producer: 'p',
      batch: sampleBatch(
        1,
        times.map(at => ({ at })),
      ),
    }));
    return { items, to: offset + items.length, end: all.length };
  }
}

describe('until when clicks are settled', () => {
  const now = samplesStart + 3_600 * second;
  const at = (offset: number) => samplesStart + offset * second;

  function settled(
    stream: FakeLog,
    positions: Record<string, number> = {},
    heads = [{ alive: true, storedUntil: at(600) }],
  ): Promise<number> {
    const sources = { positions: async () => new Map(Object.entries(positions)), log: stream };
    return new SettledTime(sources).until(heads, now);
  }

  test('is when the slowest living producer has stored its clicks, while all in the stream is counted', async () => {
    const heads = [
      { alive: true, storedUntil: at(600) },
      { alive: true, storedUntil: at(500) },
      { alive: false, storedUntil: at(1) },
    ];
    expect(await settled(new FakeLog(), {}, heads)).toBe(at(500));
    expect(await settled(new FakeLog(), {}, [])).toBe(now);
  });

  test('is before the oldest click that is not counted, wherever it lies in its partition', async () => {
    const stream = new FakeLog();
    stream.append('a', [at(1)]);
    stream.append('a', [at(400)]);
    stream.append('a', [at(390), at(20)]);
    stream.append('b', [at(300)]);
    expect(await settled(stream, { a: 1, b: 1 })).toBe(at(20));
    expect(await settled(stream, { a: 3 })).toBe(at(300));
    expect(await settled(stream, { a: 3, b: 1 })).toBe(at(600));
  });

  test('is never while the stream cannot be read', async () => {
    const stream = new FakeLog();
    stream.append('a', [at(1)]);
    stream.read = () => Promise.reject(new Error('no leader'));
    expect(await settled(stream)).toBe(Number.NEGATIVE_INFINITY);
  });

  test('is never while too many clicks are not read yet', async () => {
    const stream = new FakeLog();
    for (let count = 0; count < 5; count += 1) stream.append('a', [at(5)]);
    const many = { ...sampleBatch(1, [{ at: at(5) }]), at: new Float64Array(250_000).fill(at(5)) };
    stream.pieceAt = (_partition, offset) =>
      offset < 5
        ? { items: [{ offset, storedAt: 0, producer: 'p', batch: many }], to: offset + 1, end: 5 }
        : { items: [], to: offset, end: 5 };
    const time = new SettledTime({ positions: async () => new Map(), log: stream });
    expect(await time.until([], now)).toBe(Number.NEGATIVE_INFINITY);
    // The next call reads the rest.
    expect(await time.until([], now)).toBe(at(5));
  });

  test('is known without reading the same stretch again, as long as the counts do not go back', async () => {
    const stream = new FakeLog();
    for (const offset of [50, 10, 60, 40, 70]) stream.append('a', [at(offset)]);
    let position = 0;
    const time = new SettledTime({ positions: async () => new Map([['a', position]]), log: stream });
    const next = async () => {
      stream.reads.length = 0;
      return [await time.until([], now), [...stream.reads]];
    };
    expect(await next()).toEqual([at(10), ['a 0', 'a 1', 'a 2', 'a 3', 'a 4', 'a 5']]);
    position = 2;
    expect(await next()).toEqual([at(40), ['a 5']]);
    stream.append('a', [at(30)]);
    expect(await next()).toEqual([at(30), ['a 5', 'a 6']]);
    position = 6;
    expect(await next()).toEqual([now, []]);
    position = 1;
    expect(await next()).toEqual([at(10), ['a 1', 'a 2', 'a 3', 'a 4', 'a 5', 'a 6']]);
    position = 4;
    expect(await next()).toEqual([at(30), ['a 6']]);
    position = 3;
    expect(await next()).toEqual([at(30), ['a 3', 'a 4', 'a 5', 'a 6']]);
  });

  test('is bounded by a stretch that is counted in part, until it is counted to its end', async () => {
    const stream = new FakeLog();
    stream.framesMax = 2;
    for (const offset of [10, 50, 60]) stream.append('a', [at(offset)]);
    let position = 0;
    const time = new SettledTime({ positions: async () => new Map([['a', position]]), log: stream });
    expect(await time.until([], now)).toBe(at(10));
    position = 1;
    expect(await time.until([], now)).toBe(at(10));
    position = 2;
    expect(await time.until([], now)).toBe(at(60));
  });

  test('leaves the thread to others after each read', async () => {
    const stream = new FakeLog();
    for (let count = 0; count < 20; count += 1) stream.append('a', [at(count)]);
    const turns: number[] = [];
    let [turn, isOver] = [0, false];
    const others = (): void => {
      turn += 1;
      if (!isOver) setImmediate(others);
    };
    others();
    const read = stream.read.bind(stream);
    stream.read = offsets => {
      turns.push(turn);
      return read(offsets);
    };
    await settled(stream);
    isOver = true;
    expect([turns.length, new Set(turns).size]).toEqual([21, 21]);
  });

  test('is worked out for one caller after the other', async () => {
    const stream = new FakeLog();
    for (const offset of [50, 10]) stream.append('a', [at(offset)]);
    const time = new SettledTime({ positions: async () => new Map(), log: stream });
    const calls = [time.until([], now), time.until([], now)];
    expect(await Promise.all(calls)).toEqual([at(10), at(10)]);
    expect(stream.reads).toEqual(['a 0', 'a 1', 'a 2', 'a 2']);
  });

  test('leaves so many hours of the day open', () => {
    const hour = 3_600 * second;
    const noon = samplesStart - (samplesStart % hour);
    expect(settlingHours(noon + 50, noon + 100)).toBe(1);
    expect(settlingHours(noon, noon + 100)).toBe(1);
    expect(settlingHours(noon - 1, noon + 100)).toBe(2);
    expect(settlingHours(noon - 3 * hour, noon + 100)).toBe(4);
    expect(settlingHours(Number.NEGATIVE_INFINITY, noon)).toBe(24);
    expect(settlingHours(Number.POSITIVE_INFINITY, noon)).toBe(0);
  });
});

test('a producer with nothing on the way has stored everything until now; otherwise until its last stored click', () => {
  const stored = new StoredUntil();
  expect(stored.until(0, 100 * second)).toBe(70 * second);
  expect(stored.until(1, 100 * second)).toBe(-noteDelayMs);
  stored.taken({ firstSequence: 1, at: Float64Array.of(80 * second, 90 * second) });
  expect(stored.until(2, 100 * second)).toBe(70 * second);
  expect(stored.until(3, 100 * second)).toBe(60 * second);
});

test('while clicks wait, what the producer has stored follows the oldest of them', () => {
  const stored = new StoredUntil();
  stored.taken({ firstSequence: 1, at: Float64Array.of(80 * second, 90 * second) });
  expect(stored.until(2, 500 * second, 80 * second)).toBe(50 * second);
  expect(stored.until(2, 600 * second, 90 * second)).toBe(60 * second);
  expect(stored.until(3, 600 * second, 400 * second)).toBe(60 * second);
});

interface Producer {
  readonly stored: StoredUntil;
  readonly noted: number[];
  /** How many clicks were passed to the writer, and how many of these are in the stream. */
  taken: number;
  written: number;
  /** The page that is read live, and what was last announced of it. */
  storedUntil: number;
  announced: number;
}

/** Random steps of three producers and a counter; returns how often something was settled. */
async function run(seed: number): Promise<number> {
  const random = seededRandom(seed);
  const below = (bound: number): number => Math.floor(random.float() * bound);
  let now = samplesStart;
  const stream = new FakeLog();
  stream.framesMax = 3;
  const counted = new Map<string, number>();
  const time = new SettledTime({ positions: async () => new Map(counted), log: stream });
  const producers = Array.from({ length: 3 }, (): Producer => {
    const before = samplesStart - noteDelayMs;
    return {
      stored: new StoredUntil(),
      noted: [],
      taken: 0,
      written: 0,
      storedUntil: before,
      announced: before,
    };
  });
  const steps: ((producer: Producer) => void)[] = [
    ({ noted }) => {
      for (let count = below(3) + 1; count > 0; count -= 1) noted.push(now - below(noteDelayMs + 1));
    },
    producer => {
      const times = producer.noted.slice(producer.taken, producer.taken + 1 + below(5));
      if (times.length === 0) return;
      producer.stored.taken({ firstSequence: producer.taken + 1, at: Float64Array.from(times) });
      producer.taken += times.length;
    },
    // Waiting clicks are written late: after a spill, at any time later.
    producer => {
      const times = producer.noted.slice(producer.written, producer.taken).slice(0, 1 + below(4));
      if (times.length > 0) stream.append(`p${below(2)}`, times);
      producer.written += times.length;
    },
    producer => {
      const next = producer.noted.slice(producer.written, producer.taken).slice(0, 1 + below(3));
      const waitingSince = next.length === 0 ? undefined : Math.min(...next);
      const until = producer.stored.until(producer.noted.length, now, waitingSince);
      producer.storedUntil = Math.max(producer.storedUntil, until);
    },
    producer => {
      producer.announced = producer.storedUntil;
    },
    () => {
      const name = `p${below(2)}`;
      const frames = stream.frames.get(name)?.length ?? 0;
      const position = counted.get(name) ?? 0;
      // Now and then it counts again from an earlier position.
      counted.set(name, below(10) === 0 ? below(position + 1) : position + below(frames - position + 1));
    },
    () => {
      now += below(20 * second);
    },
  ];
  let moved = 0;
  for (let step = 0; step < 400; step += 1) {
    steps[below(steps.length)]!(producers[below(producers.length)]!);
    if (step % 5 !== 0) continue;
    const heads = producers.map(({ announced }) => ({ alive: true, storedUntil: announced }));
    const until = await time.until(heads, now);
    const written = [...stream.frames].flatMap(([name, frames]) => frames.slice(counted.get(name) ?? 0));
    const waiting = producers.flatMap(({ noted, written: from }) => noted.slice(from));
    const oldest = Math.min(Number.POSITIVE_INFINITY, ...written.flat(), ...waiting);
    expect([seed, step, oldest >= until]).toEqual([seed, step, true]);
    if (until > samplesStart) moved += 1;
  }
  return moved;
}

test('in any order of events, every click before it is counted', async () => {
  let moved = 0;
  for (let seed = 1; seed <= 300; seed += 1) moved += await run(seed);
  // A bound that never moves would hold as well.
  expect(moved).toBeGreaterThan(1_000);
});
