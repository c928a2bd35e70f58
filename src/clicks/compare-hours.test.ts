import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { type ComparisonSources, compareHours, type HourComparison, HourWatch } from './compare-hours.ts';
import { FakeLog } from './fake-log.ts';
import { hourMs } from './replay.ts';

const hour = samplesStart;
const range = { from: hour, to: hour + hourMs, countsStream: false };

function sourcesWith(changes: Partial<ComparisonSources['warehouse']> = {}): ComparisonSources {
  return {
    warehouse: {
      ledger: async () => [{ hour, producer: 'p/0', counted: 90, skipped: 10, duplicates: 3 }],
      producers: async () => [{ producer: 'p/0', sequence: 100 }],
      positions: async () => new Map([['topic/0', 5]]),
      hourSums: async () => [{ hour, counted: 70, forgotten: 20, kept: 90 }],
      comparableSince: async () => 0,
      ...changes,
    },
    heads: async () => [{ producer: 'p', sequence: 100, lastClickAt: hour, storedUntil: 0, alive: true }],
    log: new FakeLog(),
    settledUntil: async () => hour + hourMs,
    hasTimes: false,
  };
}

async function only(sources: ComparisonSources, countsStream = false): Promise<HourComparison> {
  const rows = await compareHours(sources, { ...range, countsStream });
  expect(rows).toHaveLength(1);
  return rows[0]!;
}

test('an hour whose numbers agree has lost what was dropped, and nothing else', async () => {
  expect(await only(sourcesWith())).toEqual({
    hour,
    noted: 100,
    dropped: 10,
    missing: 0,
    recorded: 90,
    counted: 90,
    kept: 90,
    inStream: null,
    uncounted: null,
    settling: false,
    drift: 0.1,
  });
});

test.each([
  ['counts of links', { counted: 65, forgotten: 20, kept: 90 }, 0.15],
  ['single clicks', { counted: 70, forgotten: 20, kept: 88 }, 0.12],
  ['counts that are too many', { counted: 180, forgotten: 20, kept: 90 }, 0.6],
])('%s that disagree with the ledger are drift', async (_which, sum, drift) => {
  const sources = sourcesWith({ hourSums: async () => [{ hour, ...sum }] });
  expect((await only(sources)).drift).toBeCloseTo(drift, 10);
});

test('counts without an entry in the ledger are drift, and so is a ledger without counts', async () => {
  const heads = async () => [];
  const phantom = { ...sourcesWith({ ledger: async () => [] }), heads };
  expect(await only(phantom)).toMatchObject({ recorded: 0, counted: 90, drift: 1 });
  expect(await only(sourcesWith({ hourSums: async () => [] }))).toMatchObject({ counted: 0, drift: 1 });
});

test('an hour that is too long ago is not compared with its counts', async () => {
  const sources = sourcesWith({ hourSums: async () => [], comparableSince: async () => hour + 1 });
  expect(await only(sources)).toMatchObject({ counted: null, kept: null, drift: 0.1 });
});

test('clicks in the stream are compared too when they are asked for, as long as all of them are there', async () => {
  const sources = sourcesWith();
  const stream = sources.log as FakeLog;
  const clicks = Array.from({ length: 80 }, () => ({ at: hour }));
  stream.write([
    { partition: 'topic/0', from: 0, to: 5, producer: 'p/0', batch: sampleBatch(1, clicks) },
    // Not counted yet, and so not missing.
    { partition: 'topic/0', from: 5, to: 6, producer: 'p/0', batch: sampleBatch(81, clicks) },
  ]);
  expect(await only(sources, true)).toMatchObject({ inStream: 80, drift: 0.2 });
  stream.keptSinceMs = hour + 1;
  expect(await only(sources, true)).toMatchObject({ inStream: null, drift: 0.1 });
});

test('messages that were written in the hour and are not counted are reported, and the hour is settling', async () => {
  const sources = { ...sourcesWith(), hasTimes: true };
  const stream = sources.log as FakeLog;
  const at = (position: number, time: number) => ({
    partition: 'topic/0',
    from: position,
    to: position + 1,
    producer: 'p/0',
    batch: sampleBatch(position + 1, [{ at: time }]),
  });
  stream.write([4, 5, 6, 7].map(position => at(position, hour + position)));
  stream.write([at(8, hour + hourMs)]);
  expect(await only(sources)).toMatchObject({ uncounted: 3, settling: true });
});

test('an hour for which clicks may still arrive is settling', async () => {
  const settledUntil = async () => hour + hourMs - 1;
  expect(await only({ ...sourcesWith(), settledUntil })).toMatchObject({ settling: true });
});

test('an hour in which clicks were counted while it was read is settling', async () => {
  let looks = 0;
  const ledger = async () => {
    looks += 1;
    return [{ hour, producer: 'p/0', counted: 89 + looks, skipped: 10, duplicates: 3 }];
  };
  expect(await only(sourcesWith({ ledger }))).toMatchObject({ settling: true });
});

test('what is settled is read both before and after the numbers that are compared', async () => {
  const order: string[] = [];
  const noted =
    <Value>(name: string, value: Value): (() => Promise<Value>) =>
    async () => {
      order.push(name);
      return value;
    };
  const sources = sourcesWith({
    ledger: noted('ledger', []),
    hourSums: noted('sums', []),
    producers: noted('producers', []),
  });
  await compareHours({ ...sources, heads: noted('heads', []), settledUntil: noted('settled', hour) }, range);
  expect([...order.slice(0, 3), ...order.slice(-2)]).toEqual([
    'heads',
    'settled',
    'ledger',
    'settled',
    'ledger',
  ]);
});

describe('the watch over hours', () => {
  let clock: ManualClock;
  let asked: number[];
  let drifts: Map<number, number>;
  let settling: (hour: number) => boolean;
  let watch: HourWatch;
  beforeEach(() => {
    clock = new ManualClock(samplesStart);
    [asked, drifts, settling] = [[], new Map(), () => false];
    watch = new HourWatch({
      clock,
      async compare(from) {
        asked.push((samplesStart - from) / hourMs);
        return [{ hour: from, drift: drifts.get(from) ?? 0, settling: settling(from) } as HourComparison];
      },
    });
  });

  /** A round in which time passes. */
  async function round(): Promise<void> {
    const running = watch.round();
    for (let step = 0; step < 5; step += 1) {
      await yieldToEventLoop();
      clock.advance(2_000);
    }
    await running;
  }

  test('compares the newest whole hour first, then each hour of a day, and then starts again', async () => {
    for (let count = 0; count < 25; count += 1) await watch.round();
    expect(asked).toEqual([...Array.from({ length: 24 }, (_, index) => index + 1), 1]);
  });

  test('compares a new hour as soon as it is over', async () => {
    for (let count = 0; count < 24; count += 1) await watch.round();
    clock.advance(hourMs);
    await watch.round();
    expect(asked.at(-1)).toBe(0);
  });

  test('reports the largest drift, and how many hours exceed the limit', async () => {
    expect(watch.figures).toBeUndefined();
    drifts.set(samplesStart - hourMs, 0.5);
    drifts.set(samplesStart - 2 * hourMs, 0.0009);
    for (let count = 0; count < 3; count += 1) await round();
    expect(watch.figures).toEqual({ worst: 0.5, drifting: 1 });
  });

  test('reports a drift only if a second comparison confirms it', async () => {
    drifts.set(samplesStart - hourMs, 0.5);
    const running = watch.round();
    await yieldToEventLoop();
    drifts.clear();
    clock.advance(10_000);
    await running;
    expect([watch.figures, asked]).toEqual([{ worst: 0, drifting: 0 }, [1, 1]]);
  });

  test('reports nothing about an hour that is settling', async () => {
    settling = () => true;
    drifts.set(samplesStart - hourMs, 0.5);
    await watch.round();
    expect(watch.figures).toBeUndefined();
  });

  test('finds the drift of other hours while one stays settling', async () => {
    settling = hour => hour === samplesStart - hourMs;
    drifts.set(samplesStart - 3 * hourMs, 0.5);
    for (let count = 0; count < 24; count += 1) await round();
    expect(new Set(asked).size).toBe(24);
    expect(watch.figures).toEqual({ worst: 0.5, drifting: 1 });
    await watch.round();
    expect(asked.at(-1)).toBe(1);
  });

  test('finds the drift of other hours while one cannot be compared', async () => {
    drifts.set(samplesStart - 2 * hourMs, 0.5);
    settling = hour => {
      if (hour === samplesStart - hourMs) throw new Error('no answer');
      return false;
    };
    await expect(watch.round()).rejects.toThrow('no answer');
    await round();
    expect(watch.figures).toEqual({ worst: 0.5, drifting: 1 });
  });

  test('keeps the drift of an hour that begins to settle again', async () => {
    drifts.set(samplesStart - hourMs, 0.5);
    await round();
    settling = () => true;
    for (let count = 0; count < 24; count += 1) await watch.round();
    expect([asked.at(-1), watch.figures]).toEqual([1, { worst: 0.5, drifting: 1 }]);
  });

  test('forgets an hour after a day', async () => {
    drifts.set(samplesStart - hourMs, 0.5);
    await round();
    clock.advance(25 * hourMs);
    await watch.round();
    expect(watch.figures).toEqual({ worst: 0, drifting: 0 });
  });
});
