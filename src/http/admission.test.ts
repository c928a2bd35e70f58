import { expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { Admission } from './admission.ts';

const start = (inFlightMax: number, sharePercent = 100) => {
  const clock = new ManualClock();
  return { clock, admission: new Admission({ inFlightMax, sharePercent, clock }) };
};
const here = { host: '192.0.2.1', site: '192.0.2.1' };
const there = { host: '192.0.2.2', site: '192.0.2.2' };
/** Admits this many requests, or as many as the limit allows. */
const crowd = (admission: Admission, count: number) =>
  Array.from({ length: Math.min(count, Math.ceil(admission.limit)) }, () => admission.begin(here));
const refusal = 'Too many requests';

/** An interval in which this many requests are all slow. */
function allSlow(admission: Admission, clock: ManualClock, count: number): void {
  const ends = crowd(admission, count);
  clock.advance(400);
  for (const admitted of ends) admitted.end(true);
}

/** An interval in which this many requests are slow, but one is answered at once. */
function oneQuick(admission: Admission, clock: ManualClock, count: number): void {
  const ends = crowd(admission, count);
  clock.advance(400);
  admission.begin(here).end(true);
  for (const admitted of ends) admitted.end(true);
}

test('a burst is admitted up to the maximum', () => {
  const { admission } = start(1_000);
  const [one] = crowd(admission, 1_000);
  expect(() => admission.begin(there)).toThrow(refusal);
  one!.end(false);
  admission.begin(there);
});

test('while even the quickest answers are slow, the limit falls, but never to zero', () => {
  const { admission, clock } = start(4_000);
  allSlow(admission, clock, 1_000);
  expect(admission.limit).toBe(700);
  allSlow(admission, clock, 700);
  expect(admission.limit).toBeCloseTo(490);
  for (let moment = 0; moment < 50; moment += 1) allSlow(admission, clock, 500);
  expect(admission.limit).toBe(256);
});

test('one quick answer in an interval shows that overload is not what makes the others slow', () => {
  const { admission, clock } = start(4_000);
  for (let moment = 0; moment < 20; moment += 1) oneQuick(admission, clock, 1_000);
  expect(admission.limit).toBe(4_000);
});

test('quick rejections do not count as quick answers', () => {
  const { admission, clock } = start(4_000);
  const ends = crowd(admission, 1_000);
  clock.advance(400);
  admission.begin(here).end(false);
  ends[0]!.end(true);
  expect(admission.limit).toBeCloseTo(700.7);
});

test('when answers are quick again, the limit rises to its maximum', () => {
  const { admission, clock } = start(4_000);
  for (let moment = 0; moment < 50; moment += 1) allSlow(admission, clock, 1_000);
  for (let moment = 0; moment < 30; moment += 1) {
    clock.advance(200);
    admission.begin(here).end(true);
  }
  expect(admission.limit).toBe(4_000);
});

test('a configured limit below the usual minimum is respected', () => {
  const { admission, clock } = start(1);
  for (let moment = 0; moment < 10; moment += 1) allSlow(admission, clock, 1);
  expect(admission.limit).toBe(1);
});

test('one network has its share, and leaves the rest to others', () => {
  const { admission } = start(1_000, 50);
  const [one] = crowd(admission, 500);
  expect(() => admission.begin(here)).toThrow('from your network');
  admission.begin(there);
  one!.end(true);
  admission.begin(here);
});

test('an IPv6 /48 has a share, as does each /64 in it', () => {
  const { admission } = start(100, 50);
  const inSite = (host: string) => admission.begin({ host, site: '2001:db8:1::/48' });
  for (let index = 0; index < 75; index += 1) inSite(`2001:db8:1:${index}::/64`);
  expect(() => inSite('2001:db8:1:ff::/64')).toThrow('from your network');
  admission.begin({ host: '2001:db8:2::/64', site: '2001:db8:2::/48' });
});

test('a request that waits for its client takes no slot, and its wait does not count as slowness', () => {
  const { admission, clock } = start(2);
  const waiting = crowd(admission, 2);
  for (const admitted of waiting) admitted.pause();
  for (let index = 0; index < 2; index += 1) admission.begin(there);
  clock.advance(5_000);
  for (const admitted of waiting) {
    admitted.resume();
    admitted.end(true);
  }
  expect(admission.limit).toBe(2);
});

test('requests whose bodies all arrive at once do not exceed the share of their network', () => {
  const { admission } = start(100, 50);
  const waiting = crowd(admission, 50);
  for (const admitted of waiting) admitted.pause();
  expect(() => admission.begin(here)).toThrow('from your network');
  for (const admitted of waiting) admitted.resume();
  for (let index = 0; index < 50; index += 1) admission.begin(there);
  for (const admitted of waiting) admitted.end(true);
  admission.begin(here);
});

test('only our own time counts as slowness, however long the client took', () => {
  const { admission, clock } = start(4_000);
  for (let moment = 0; moment < 20; moment += 1) {
    const slowClients = crowd(admission, 1_000);
    for (const admitted of slowClients) admitted.pause();
    clock.advance(400);
    for (const admitted of slowClients) {
      admitted.resume();
      admitted.end(true);
    }
  }
  expect(admission.limit).toBe(4_000);
});

test('a request that has ended cannot resume', () => {
  const { admission } = start(1);
  const admitted = admission.begin(here);
  admitted.pause();
  admitted.end(true);
  admitted.resume();
  admission.begin(there);
});
