import { beforeEach, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { createLinkClicks, type LinkClicks } from './link-clicks.ts';
import type { ScopeTotal } from './warehouse.ts';

interface Question {
  readonly codes: readonly string[];
  readonly answer: PromiseWithResolvers<ScopeTotal[]>;
}

let clock: ManualClock;
let questions: Question[];
let clicksOf: LinkClicks;
beforeEach(() => {
  clock = new ManualClock();
  questions = [];
  const totals = (codes: readonly string[]) => {
    const answer = Promise.withResolvers<ScopeTotal[]>();
    questions.push({ codes, answer });
    return answer.promise;
  };
  clicksOf = createLinkClicks({ totals }, clock);
});

const tell = (question: number, ...clicks: number[]): void =>
  questions[question]!.answer.resolve(
    clicks.map(each => ({ clicks: each, bots: 9, suspicious: 0, lastClickAt: null })),
  );

test('clicks are those of people, in the order of the codes', async () => {
  const asked = clicksOf(['a', 'b']);
  tell(0, 3, 0);
  expect(await asked).toEqual([3, 0]);
  expect(questions[0]!.codes).toEqual(['a', 'b']);
  expect(await clicksOf([])).toEqual([]);
  expect(questions).toHaveLength(1);
});

test('many codes are asked for in questions of a bounded size', async () => {
  const codes = Array.from({ length: 2_500 }, (_, n) => `code${n}`);
  const asked = clicksOf(codes);
  expect(questions.map(question => question.codes.length)).toEqual([1_000, 1_000, 500]);
  for (const [index, question] of questions.entries()) tell(index, ...question.codes.map(() => index));
  const clicks = await asked;
  expect([clicks[0], clicks[1_999], clicks[2_499]]).toEqual([0, 1, 2]);
});

test('a warehouse that fails leaves them unknown, and is asked again', async () => {
  const asked = clicksOf(['a', 'b']);
  questions[0]!.answer.reject(new Error('down'));
  expect(await asked).toEqual([null, null]);
  const again = clicksOf(['a']);
  tell(1, 7);
  expect(await again).toEqual([7]);
});

test('nobody waits for a warehouse that hangs but the first, and that one for a bounded time', async () => {
  const first = clicksOf(['a'], 200);
  clock.advance(200);
  expect(await first).toEqual([null]);
  expect(await clicksOf(['b'])).toEqual([null]);
  expect(questions).toHaveLength(1);
  tell(0, 1);
  await Bun.sleep(0);
  const later = clicksOf(['c']);
  tell(1, 5);
  expect(await later).toEqual([5]);
  clock.advance(10_000);
  const last = clicksOf(['d']);
  tell(2, 6);
  expect(await last).toEqual([6]);
});
