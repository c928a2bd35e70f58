import { beforeEach, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { type CountedLink, createLinkClicks, type LinkClicks } from './stats.ts';
import type { ScopeTotal } from './warehouse.ts';

interface TotalsQuestion {
  readonly links: readonly CountedLink[];
  readonly answer: PromiseWithResolvers<ScopeTotal[]>;
}

let clock: ManualClock;
let questions: TotalsQuestion[];
let clicksOf: LinkClicks;
beforeEach(() => {
  clock = new ManualClock();
  questions = [];
  const totals = (links: readonly CountedLink[]) => {
    const answer = Promise.withResolvers<ScopeTotal[]>();
    questions.push({ links, answer });
    return answer.promise;
  };
  clicksOf = createLinkClicks({ totals }, clock);
});

const owned = (...codes: string[]) => codes.map(code => ({ code, ownerId: `owner of ${code}` }));

const tell = (question: number, ...counts: number[]): void =>
  questions[question]!.answer.resolve(
    counts.map(each => ({ clicks: each, bots: 9, suspicious: 0, lastClickAt: null })),
  );

test('returns the clicks of people in the order of the links; passes on only owner and code', async () => {
  const asked = clicksOf(owned('a', 'b').map(each => ({ ...each, title: 'A long one' })));
  tell(0, 3, 0);
  expect(await asked).toEqual([3, 0]);
  expect(questions[0]!.links).toEqual(owned('a', 'b'));
  expect(await clicksOf([])).toEqual([]);
  expect(questions).toHaveLength(1);
});

test('asks about many links in questions of a bounded size', async () => {
  const asked = clicksOf(owned(...Array.from({ length: 2_500 }, (_, n) => `code${n}`)));
  expect(questions.map(question => question.links.length)).toEqual([1_000, 1_000, 500]);
  for (const [index, question] of questions.entries()) tell(index, ...question.links.map(() => index));
  const counts = await asked;
  expect([counts[0], counts[1_999], counts[2_499]]).toEqual([0, 1, 2]);
});

test('a warehouse that fails leaves clicks unknown, and is asked again', async () => {
  const asked = clicksOf(owned('a', 'b'));
  questions[0]!.answer.reject(new Error('down'));
  expect(await asked).toEqual([null, null]);
  const again = clicksOf(owned('a'));
  tell(1, 7);
  expect(await again).toEqual([7]);
});

test('only the first caller waits for a warehouse that hangs, and for a bounded time', async () => {
  const first = clicksOf(owned('a'), 200);
  clock.advance(200);
  expect(await first).toEqual([null]);
  expect(await clicksOf(owned('b'))).toEqual([null]);
  expect(questions).toHaveLength(1);
  tell(0, 1);
  await yieldToEventLoop();
  const later = clicksOf(owned('c'));
  tell(1, 5);
  expect(await later).toEqual([5]);
  clock.advance(10_000);
  const last = clicksOf(owned('d'));
  tell(2, 6);
  expect(await last).toEqual([6]);
});
