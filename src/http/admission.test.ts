import { expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { Admission } from './admission.ts';

const start = (inFlightMax: number) => {
  const clock = new ManualClock();
  return { clock, admission: new Admission({ inFlightMax, clock }) };
};
const crowd = (admission: Admission, count: number) => Array.from({ length: count }, () => admission.begin());

/** A moment in which so many are there and every answer takes longer than it should. */
function crawl(admission: Admission, clock: ManualClock, count: number): void {
  const ends = crowd(admission, count);
  clock.advance(400);
  for (const end of ends) end(true);
}

/** A moment in which the others are as slow, but one is answered at once. */
function mixed(admission: Admission, clock: ManualClock, count: number): void {
  const ends = crowd(admission, count);
  clock.advance(400);
  admission.begin()(true);
  for (const end of ends) end(true);
}

test('a burst is let in up to the most that is allowed', () => {
  const { admission } = start(1_000);
  crowd(admission, 999);
  expect(admission.isFull).toBe(false);
  const end = admission.begin();
  expect(admission.isFull).toBe(true);
  end(false);
  expect(admission.isFull).toBe(false);
});

test('while even the quickest answers are slow, ever fewer are let in, but never none', () => {
  const { admission, clock } = start(4_000);
  crawl(admission, clock, 1_000);
  expect(admission.limit).toBe(700);
  crawl(admission, clock, 700);
  expect(admission.limit).toBeCloseTo(490);
  for (let moment = 0; moment < 50; moment += 1) crawl(admission, clock, 500);
  expect(admission.limit).toBe(256);
});

test('one quick answer in a moment says that slow ones are not slow for want of room', () => {
  const { admission, clock } = start(4_000);
  for (let moment = 0; moment < 20; moment += 1) mixed(admission, clock, 1_000);
  expect(admission.limit).toBe(4_000);
});

test('that refusals are quick says nothing', () => {
  const { admission, clock } = start(4_000);
  const ends = crowd(admission, 1_000);
  clock.advance(400);
  admission.begin()(false);
  ends[0]!(true);
  expect(admission.limit).toBeCloseTo(700.7);
});

test('when answers are quick again, all is let in again', () => {
  const { admission, clock } = start(4_000);
  for (let moment = 0; moment < 50; moment += 1) crawl(admission, clock, 1_000);
  for (let moment = 0; moment < 30; moment += 1) {
    clock.advance(200);
    admission.begin()(true);
  }
  expect(admission.limit).toBe(4_000);
});

test('a limit below the least that makes sense is kept', () => {
  const { admission, clock } = start(1);
  for (let moment = 0; moment < 10; moment += 1) crawl(admission, clock, 5);
  expect(admission.limit).toBe(1);
});
