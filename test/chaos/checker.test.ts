/** A checker that finds nothing proves nothing: every kind of violation is planted once, and found. */
import { describe, expect, test } from 'bun:test';
import { check, recoveryMaxMs } from './checker.ts';
import { clickLossMs } from './click-rules.ts';
import type { HistoryEvent } from './history.ts';
import {
  a,
  b,
  change,
  claim,
  create,
  fault,
  final,
  keyed,
  killed,
  lateMs,
  led,
  made,
  refused,
  run,
  stats,
  unanswered,
  working,
} from './sample-history.ts';
import type { Rule } from './violation.ts';

const rulesBroken = (...events: readonly HistoryEvent[]): Rule[] =>
  [...new Set(check([run, ...events]).violations.map(({ rule }) => rule))].sort();

describe('the checker passes', () => {
  const clean: Record<string, readonly HistoryEvent[]> = {
    'a link that is followed to the end': [made, led(10, 'x', a), final('x', a)],
    'an edit that takes its time within the bound': [
      made,
      change(100, 'edit', 'x', { longUrl: b }),
      led(105 + lateMs - 2, 'x', a, { process: 1 }),
      final('x', b),
    ],
    'either destination when the outcome of an edit is unknown': [
      made,
      change(100, 'edit', 'x', { longUrl: b, outcome: 'unknown', status: 503 }),
      led(50_000, 'x', a),
      final('x', b),
    ],
    'a link that is disabled and enabled again': [
      made,
      change(100, 'disable', 'x'),
      refused(200, 'x', 410, 'link_disabled'),
      change(300, 'enable', 'x'),
      final('x', a),
    ],
    'an old destination at a process that reaches neither engine': [
      made,
      fault(50, 9_000, [
        { part: 'store', process: 1 },
        { part: 'redis', process: 1 },
      ]),
      change(100, 'edit', 'x', { longUrl: b }),
      led(8_000, 'x', a, { process: 1 }),
      ...working(10_000),
      final('x', b),
    ],
    'one owner of an alias, others that are rejected, and a repeat': [
      claim(0, 'mine', 'one', 201),
      claim(1, 'mine', 'two', 409),
      claim(2, 'mine', 'one', 200),
      final('mine', 'https://example.com/one'),
    ],
    'a repeat that finds what an unanswered claim has made': [
      claim(0, 'mine', 'one', undefined),
      claim(100, 'mine', 'one', 200),
      claim(101, 'mine', 'two', 409),
      final('mine', 'https://example.com/one'),
    ],
    'an expired link, judged by a clock that is an hour ahead': [
      create(0, 'x', a, { expiresAtMs: run.wallMs + 60_000 }),
      fault(50, 9_000, [{ part: 'clock', process: 0, skewMs: 3_600_000 }]),
      refused(100, 'x', 410, 'link_expired'),
      ...working(10_000),
      refused(90_000, 'x', 410, 'link_expired', { kind: 'final' }),
    ],
    'clicks of visits whose answers were lost, counted or not': [
      made,
      led(10, 'x', a),
      unanswered(20, 'x'),
      final('x', a),
      stats(99_000, 'x', 3, 'final-stats'),
      { type: 'clicks', counted: 3, lost: 0 },
    ],
    'clicks that are reported as lost when their process was killed': [
      made,
      led(10, 'x', a),
      killed(5 + clickLossMs, 0),
      ...working(10_000),
      final('x', a),
      stats(99_000, 'x', 1, 'final-stats'),
      { type: 'clicks', counted: 5, lost: 1 },
    ],
    'a click that was lost with the answer': [
      made,
      unanswered(5, 'x'),
      killed(8, 0),
      ...working(10_000),
      final('x', a),
      stats(99_000, 'x', 1, 'final-stats'),
      { type: 'clicks', counted: 5, lost: 1 },
    ],
    'a link that has had all its visitors, with or without an answer': [
      create(0, 'x', a, { maxClicks: 3 }),
      led(10, 'x', a),
      unanswered(20, 'x'),
      refused(30, 'x', 503, 'store_unavailable'),
      refused(40, 'x', 410, 'link_exhausted'),
      refused(90_000, 'x', 410, 'link_exhausted', { kind: 'final' }),
    ],
    'a key until it is revoked': [
      keyed(0, 'create-key'),
      keyed(10, 'use-key'),
      keyed(20, 'revoke-key'),
      keyed(30, 'use-key', { status: 401, outcome: 'failed' }),
    ],
    'a revoked key within the bound while the store is down': [
      keyed(0, 'create-key'),
      keyed(20, 'revoke-key'),
      fault(22, 30, [{ part: 'store' }]),
      keyed(1_000, 'use-key'),
      ...working(10_000),
    ],
    'failures during a fault and shortly after it': [
      fault(100, 1_000, [{ part: 'store' }]),
      refused(500, 'x', 503, 'store_unavailable'),
      refused(1_500, 'x', 503, 'store_unavailable'),
      ...working(5_000),
    ],
    'a process that does nothing in a rest that is too short to tell': [
      fault(100, 1_000, [{ part: 'store' }]),
      ...working(2_000, [0]),
      fault(3_000, 4_000, [{ part: 'store' }]),
      ...working(5_000),
    ],
    'a failure whose client was itself late': [
      fault(100, 1_000, [{ part: 'store' }]),
      ...working(5_000),
      { ...refused(1_000 + recoveryMaxMs + 1, 'x', 503, 'store_unavailable'), lagMs: 5_000 },
    ],
  };
  test.each(Object.entries(clean))('%s', (_what, events) => {
    expect(check([run, ...events]).violations).toEqual([]);
  });
});

describe('the checker finds', () => {
  const planted: Record<string, readonly [Rule, ...HistoryEvent[]]> = {
    'an acknowledged link that is unknown': [
      'lost-link',
      made,
      refused(10, 'x', 404, 'not_found'),
      final('x', a),
    ],
    'an acknowledged link that nobody followed at the end': ['lost-link', made, led(10, 'x', a)],
    'an acknowledged alias that is unknown at the end': [
      'lost-link',
      claim(0, 'mine', 'one', 201),
      refused(90_000, 'mine', 404, 'not_found', { kind: 'final' }),
    ],
    'an item of a bulk call that is unknown at the end': [
      'lost-link',
      { ...made, kind: 'bulk' },
      refused(90_000, 'x', 404, 'not_found', { kind: 'final' }),
    ],
    'an acknowledged link that cannot be changed': [
      'lost-link',
      made,
      change(10, 'edit', 'x', { longUrl: b, status: 404, outcome: 'failed' }),
      final('x', a),
    ],
    'one code for two links': ['code-twice', made, create(1, 'x', b), final('x', a)],
    'two owners of an alias': [
      'alias-owners',
      claim(0, 'mine', 'one', 201),
      claim(1, 'mine', 'two', 201),
      final('mine', 'https://example.com/one'),
    ],
    'an alias that is taken although nobody has it': [
      'alias-owners',
      claim(0, 'mine', 'one', 409),
      claim(1, 'mine', 'two', 409),
    ],
    'a repeat of a claim that was never made': [
      'alias-owners',
      claim(0, 'mine', 'one', 200),
      final('mine', 'https://example.com/one'),
    ],
    'an alias that leads where a rejected claim wanted it': [
      'foreign-destination',
      claim(0, 'mine', 'one', 201),
      claim(1, 'mine', 'two', undefined),
      final('mine', 'https://example.com/two'),
    ],
    'an old destination after an edit': [
      'stale-redirect',
      made,
      change(100, 'edit', 'x', { longUrl: b }),
      led(105 + lateMs, 'x', a, { process: 1 }),
      final('x', b),
    ],
    'an old destination at a process that reaches the store, but not Redis': [
      'stale-redirect',
      made,
      fault(50, 9_000, [{ part: 'redis', process: 1 }]),
      change(100, 'edit', 'x', { longUrl: b }),
      led(8_000, 'x', a, { process: 1 }),
      ...working(10_000),
      final('x', b),
    ],
    'an old destination at a process that was isolated for too long': [
      'stale-redirect',
      made,
      fault(50, 30_000, [
        { part: 'store', process: 1 },
        { part: 'redis', process: 1 },
      ]),
      change(100, 'edit', 'x', { longUrl: b }),
      led(50 + run.isolatedMs + lateMs, 'x', a, { process: 1 }),
      ...working(31_000),
      final('x', b),
    ],
    'an old destination at a process that has long reached the store again': [
      'stale-redirect',
      made,
      fault(50, 2_000, [
        { part: 'store', process: 1 },
        { part: 'redis', process: 1 },
      ]),
      change(100, 'edit', 'x', { longUrl: b }),
      led(2_000 + lateMs, 'x', a, { process: 1 }),
      ...working(8_000),
      final('x', b),
    ],
    'a disabled link that is followed': [
      'stale-redirect',
      made,
      change(100, 'disable', 'x'),
      led(50_000, 'x', a),
      final('x', a),
    ],
    'a deleted link that is followed': [
      'stale-redirect',
      made,
      change(100, 'delete', 'x'),
      led(50_000, 'x', a),
      final('x', a),
    ],
    'a deleted link that an unanswered change brought back': [
      'stale-redirect',
      made,
      change(100, 'delete', 'x'),
      change(200, 'enable', 'x', { outcome: 'unknown', status: undefined }),
      final('x', a),
    ],
    'a destination that the link never had': ['foreign-destination', made, led(10, 'x', b), final('x', a)],
    'a destination of an edit that was certainly not made': [
      'foreign-destination',
      made,
      change(100, 'edit', 'x', { longUrl: b, outcome: 'failed', status: 503 }),
      final('x', b),
    ],
    'a destination of a code that was never issued': ['foreign-destination', led(10, 'never', a)],
    'a link that is said to be deleted': [
      'wrong-refusal',
      made,
      refused(10, 'x', 410, 'link_deleted'),
      final('x', a),
    ],
    'a link that is still said to be disabled': [
      'wrong-refusal',
      made,
      change(100, 'disable', 'x'),
      change(200, 'enable', 'x'),
      refused(50_000, 'x', 410, 'link_disabled'),
      final('x', a),
    ],
    'a link that is said to be expired too early': [
      'wrong-refusal',
      create(0, 'x', a, { expiresAtMs: run.wallMs + 99_000 }),
      refused(10, 'x', 410, 'link_expired'),
      final('x', a),
    ],
    'a link that is said to be exhausted at the first visit': [
      'wrong-refusal',
      create(0, 'x', a, { maxClicks: 1 }),
      refused(10, 'x', 410, 'link_exhausted'),
      final('x', a),
    ],
    'a link that is said to be exhausted one visit too early': [
      'wrong-refusal',
      create(0, 'x', a, { maxClicks: 3 }),
      led(10, 'x', a),
      unanswered(20, 'x'),
      refused(30, 'x', 410, 'link_exhausted'),
      final('x', a),
    ],
    'a link without a limit that is said to be exhausted': [
      'wrong-refusal',
      made,
      led(10, 'x', a),
      refused(30, 'x', 410, 'link_exhausted'),
      final('x', a),
    ],
    'a redirect after the expiry': [
      'expired-redirect',
      create(0, 'x', a, { expiresAtMs: run.wallMs + 1_000 }),
      led(3_000, 'x', a),
      refused(90_000, 'x', 410, 'link_expired', { kind: 'final' }),
    ],
    'more redirects than the link allows': [
      'click-limit',
      create(0, 'x', a, { maxClicks: 1 }),
      led(10, 'x', a),
      led(20, 'x', a),
      refused(90_000, 'x', 410, 'link_exhausted', { kind: 'final' }),
    ],
    'a link with more clicks than visits': [
      'clicks',
      made,
      final('x', a),
      stats(99_000, 'x', 2, 'final-stats'),
    ],
    'a link that already has clicks of later visits': [
      'clicks',
      made,
      stats(50, 'x', 1, 'stats'),
      led(60, 'x', a),
      final('x', a),
    ],
    'a link with fewer clicks than redirects': [
      'clicks',
      made,
      led(10, 'x', a),
      final('x', a),
      stats(99_000, 'x', 1, 'final-stats'),
    ],
    'clicks that are neither counted nor reported as lost': [
      'clicks',
      made,
      final('x', a),
      { type: 'clicks', counted: 0, lost: 0 },
    ],
    'clicks that are reported as lost although nothing was killed': [
      'clicks',
      made,
      led(10, 'x', a),
      fault(20, 30, [{ part: 'process', process: 0 }, { part: 'stream' }]),
      ...working(5_000),
      final('x', a),
      { type: 'clicks', counted: 5, lost: 1 },
    ],
    'a click without an answer that is reported as lost although nothing was killed': [
      'clicks',
      made,
      unanswered(5, 'x'),
      final('x', a),
      { type: 'clicks', counted: 1, lost: 1 },
    ],
    'a click that is missing, though no more are reported as lost than a kill can have lost': [
      'clicks',
      made,
      led(10, 'x', a),
      unanswered(4_000, 'x'),
      killed(4_001, 0),
      ...working(10_000),
      final('x', a),
      { type: 'clicks', counted: 5, lost: 1 },
    ],
    'a click that is reported as lost long before its process was killed': [
      'clicks',
      made,
      led(10, 'x', a),
      killed(16 + clickLossMs, 0),
      ...working(10_000),
      final('x', a),
      { type: 'clicks', counted: 5, lost: 1 },
    ],
    'a click that is reported as lost when another process was killed': [
      'clicks',
      made,
      led(10, 'x', a),
      killed(20, 1),
      ...working(10_000),
      final('x', a),
      { type: 'clicks', counted: 5, lost: 1 },
    ],
    'a link that lost a click while another had the visits before the kill': [
      'clicks',
      made,
      led(10, 'x', a),
      create(0, 'y', b),
      led(4_000, 'y', b),
      killed(4_010, 0),
      ...working(10_000),
      final('x', a),
      final('y', b),
      stats(99_000, 'x', 1, 'final-stats'),
      { type: 'clicks', counted: 7, lost: 1 },
    ],
    'clicks that were counted twice': [
      'clicks',
      made,
      final('x', a),
      { type: 'clicks', counted: 2, lost: 0 },
    ],
    'more clicks that are reported as lost than there were': [
      'clicks',
      made,
      final('x', a),
      { type: 'clicks', counted: 1, lost: 1 },
    ],
    'a revoked key that is accepted': [
      'revoked-key',
      keyed(0, 'create-key'),
      keyed(20, 'revoke-key'),
      keyed(30, 'use-key'),
    ],
    'a revoked key that is accepted too late while the store is down': [
      'revoked-key',
      keyed(0, 'create-key'),
      keyed(20, 'revoke-key'),
      fault(22, 9_000, [{ part: 'store' }]),
      keyed(25 + lateMs, 'use-key'),
      ...working(10_000),
    ],
    'a key that works and is rejected': [
      'wrong-refusal',
      keyed(0, 'create-key'),
      keyed(10, 'use-key', { status: 401, outcome: 'failed' }),
    ],
    'failures long after a fault': [
      'no-progress',
      fault(100, 1_000, [{ part: 'store' }]),
      ...working(5_000),
      ...[1, 2, 3].map(ms => refused(1_000 + recoveryMaxMs + ms, 'x', 503, 'store_unavailable')),
    ],
    'a kind of operation that does not work again': [
      'no-progress',
      fault(100, 1_000, [{ part: 'store' }]),
      { ...stats(1_500, 'x', 0, 'stats'), status: 503, outcome: 'failed', clicks: undefined },
      { ...stats(1_001 + recoveryMaxMs, 'x', 0, 'stats'), status: 503, outcome: 'failed', clicks: undefined },
      ...working(5_000),
    ],
    'a process that does nothing after a fault': [
      'no-progress',
      fault(100, 1_000, [{ part: 'store' }]),
      ...working(5_000, [0]),
    ],
    'a create that is rejected without a reason': [
      'unexpected-answer',
      create(0, 'x', a, { status: 401, outcome: 'failed' }),
    ],
    'statistics that are denied to their owner': [
      'unexpected-answer',
      { ...stats(10, 'x', 0, 'stats'), status: 404, outcome: 'failed' },
    ],
    'a key that cannot be revoked': [
      'unexpected-answer',
      keyed(0, 'create-key'),
      keyed(10, 'revoke-key', { status: 404, outcome: 'failed' }),
    ],
    'an answer with status 500': ['unexpected-answer', refused(10, 'y', 500, 'internal')],
    'an answer to a change that nothing explains': [
      'unexpected-answer',
      made,
      change(10, 'edit', 'x', { longUrl: b, status: 400, outcome: 'failed' }),
      final('x', a),
    ],
  };
  test.each(Object.entries(planted))('%s', (_what, [rule, ...events]) => {
    expect(rulesBroken(...events)).toEqual([rule]);
  });

  test('something by every rule', () => {
    const every = {
      'lost-link': 1,
      'code-twice': 1,
      'alias-owners': 1,
      'stale-redirect': 1,
      'foreign-destination': 1,
      'wrong-refusal': 1,
      'expired-redirect': 1,
      'click-limit': 1,
      clicks: 1,
      'revoked-key': 1,
      'no-progress': 1,
      'unexpected-answer': 1,
    } satisfies Record<Rule, 1>;
    const seen = new Set<string>(Object.values(planted).map(([rule]) => rule));
    expect(Object.keys(every).filter(rule => !seen.has(rule))).toEqual([]);
  });
});

test('the verdict says after which faults recovery was checked', () => {
  const { faults } = check([
    run,
    fault(100, 1_000, [{ part: 'store' }]),
    ...working(2_000),
    fault(1_000 + recoveryMaxMs, 17_000, [{ part: 'store' }]),
    ...working(20_000),
    fault(17_001 + recoveryMaxMs, 40_000, [{ part: 'store' }]),
    ...working(41_000),
  ]);
  expect(faults.map(({ isRecoveryChecked }) => isRecoveryChecked)).toEqual([false, true, true]);
});

test('the verdict says how long an edit was not obeyed, and how long recovery took', () => {
  const { stalenessMs, faults, revokedUsedMs } = check([
    run,
    made,
    change(95, 'edit', 'x', { longUrl: b }),
    led(150, 'x', a, { process: 1 }),
    led(250, 'x', b, { process: 1 }),
    fault(10_000, 11_000, [{ part: 'store' }]),
    refused(11_400, 'x', 503, 'store_unavailable'),
    ...working(12_000),
    refused(13_000, 'x', 503, 'store_unavailable'),
    final('x', b),
  ]);
  expect(stalenessMs).toEqual({ calm: [50], faulty: [] });
  expect(faults).toMatchObject([{ failed: 2, recoveryMs: 400, failedLater: 1 }]);
  expect(revokedUsedMs).toBe(0);
});
