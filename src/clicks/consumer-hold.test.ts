import { expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { samplesStart } from './batch-samples.ts';
import { clickCount } from './click.ts';
import { ClickConsumer } from './consumer.ts';
import { FakeCountedLog } from './fake-counting-group.ts';
import type { LogBatch } from './log.ts';
import type { Warehouse } from './warehouse.ts';

const bounds = {
  blockClicksMin: 20,
  blockClicksMax: 30,
  blockMs: 1_000,
  blockClicksGood: 0,
  heldClicksMax: 200,
} as const;

function world() {
  const clock = new ManualClock(samplesStart);
  const stream = new FakeCountedLog(2);
  const state = { isHeld: false, isDown: false, counted: 0, isHoldUnknown: false };
  const warehouse = {
    async apply(batches: readonly LogBatch[]) {
      if (state.isDown) throw new Error('down');
      const clicks = batches.reduce((sum, { batch }) => sum + clickCount(batch), 0);
      state.counted += clicks;
      return { clicks, duplicates: 0 };
    },
  } as unknown as Warehouse;
  const consumer = new ClickConsumer({
    group: stream.join(),
    log: stream,
    warehouse: { isCurrent: true, get: () => warehouse, close() {} },
    async isHeld() {
      if (state.isHoldUnknown) throw new Error('down');
      return state.isHeld;
    },
    clock,
    onProblem() {},
    bounds,
  });
  const rounds = async (count: number) => {
    for (let round = 0; round < count; round += 1) {
      clock.advance(bounds.blockMs);
      await consumer.round();
    }
  };
  const plans = () => stream.names.map(name => stream.planOf(name)?.to);
  return { stream, state, rounds, plans };
}

test('while it is asked to wait, a consumer plans nothing, and it continues when the hold ends', async () => {
  const { stream, state, rounds, plans } = world();
  state.isHeld = true;
  stream.append('topic/0', 25);
  await rounds(5);
  expect([state.counted, ...plans()]).toEqual([0, undefined, undefined]);
  state.isHeld = false;
  await rounds(5);
  expect(state.counted).toBe(25);
});

test('a block that was planned before is counted, and its plan closed', async () => {
  const { stream, state, rounds, plans } = world();
  state.isDown = true;
  stream.append('topic/0', 25);
  await rounds(3);
  expect(plans()).toEqual([1, undefined]);
  [state.isHeld, state.isDown] = [true, false];
  stream.append('topic/1', 25);
  await rounds(5);
  expect([state.counted, ...plans()]).toEqual([25, undefined, undefined]);
});

test('a consumer that cannot find out whether it should wait does not wait', async () => {
  const { stream, state, rounds } = world();
  state.isHoldUnknown = true;
  stream.append('topic/0', 25);
  await rounds(5);
  expect(state.counted).toBe(25);
});
