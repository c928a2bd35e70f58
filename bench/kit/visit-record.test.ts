import { expect, test } from 'bun:test';
import { VisitRecord } from './visit-record.ts';

const second = 1e9;
const times = { fromNs: 10 * second, toNs: 14 * second, momentNs: second };

test('what happens during the warm-up is not noted', () => {
  const record = new VisitRecord(times);
  record.noteAnswer(302, 9 * second, 9.5 * second);
  record.noteBroken(9.6 * second);
  record.noteRetried(9.6 * second);
  record.noteGaveUp(9.6 * second);
  const { served, broken, retried, gaveUp } = record.report(14 * second);
  expect({ served: served.count, broken, retried, gaveUp }).toEqual({
    served: 0,
    broken: 0,
    retried: 0,
    gaveUp: 0,
  });
});

test('an answer that came too late has its latency noted but makes no rate', () => {
  const record = new VisitRecord(times);
  for (const atS of [11, 12, 13]) record.noteAnswer(302, (atS - 0.001) * second, atS * second);
  record.noteAnswer(302, 13.5 * second, 15 * second);
  const report = record.report(16 * second);
  expect(report.servedPerSecond).toBe(3 / 4);
  expect(report.served.count).toBe(4);
  expect(report.served.maxMs).toBeCloseTo(1_500, 5);
});

test('a refusal is no service, and has latencies of its own', () => {
  const record = new VisitRecord(times);
  record.noteAnswer(503, 11 * second, 11.25 * second);
  record.noteAnswer(404, 11 * second, 11.001 * second);
  const { served, refused, statuses } = record.report(14 * second);
  expect(statuses).toEqual({ 404: 1, 503: 1 });
  expect(refused.maxMs).toBeCloseTo(250, 5);
  expect(served.maxMs).toBeCloseTo(1, 5);
});

test('every stretch of time has its own figures, also one in which nothing came', () => {
  const record = new VisitRecord(times);
  record.noteAnswer(302, 10.4 * second, 10.5 * second);
  record.noteBroken(10.6 * second);
  record.noteGaveUp(10.7 * second, 5);
  record.noteAnswer(302, 12.1 * second, 12.2 * second);
  record.noteAnswer(503, 12.1 * second, 12.3 * second);
  const { moments } = record.report(14 * second);
  const counts = moments.map(moment => [
    moment.atS,
    moment.served,
    moment.refused,
    moment.broken,
    moment.gaveUp,
  ]);
  expect(counts).toEqual([
    [1, 1, 0, 1, 5],
    [2, 0, 0, 0, 0],
    [3, 1, 1, 0, 0],
    [4, 0, 0, 0, 0],
  ]);
  expect(moments[1]!.maxMs).toBe(0);
});

test('a load that ended before its time is divided by the time it had', () => {
  const record = new VisitRecord(times);
  record.noteAnswer(302, 10.5 * second, 10.6 * second);
  expect(record.report(11 * second).servedPerSecond).toBe(1);
});
