import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { createLog, describeFailure, type Log } from './log.ts';

interface Line {
  readonly at: string;
  readonly level: string;
  readonly event: string;
  readonly repeated?: number;
  readonly since?: string;
  readonly failure?: Record<string, unknown>;
  readonly example?: Record<string, unknown>;
  readonly [field: string]: unknown;
}

/** Counts the timers that are set. */
class WatchedClock extends ManualClock {
  waiting = 0;

  override after(delayMs: number, task: () => void): () => void {
    this.waiting += 1;
    let isOver = false;
    const end = (): void => {
      if (!isOver) this.waiting -= 1;
      isOver = true;
    };
    const cancel = super.after(delayMs, () => {
      end();
      task();
    });
    return () => {
      end();
      cancel();
    };
  }
}

describe('failures that repeat', () => {
  let clock: WatchedClock;
  let written: string;
  let log: Log;
  beforeEach(() => {
    clock = new WatchedClock();
    written = '';
    log = createLog({ level: 'info', clock, write: text => (written += text) });
  });

  const lines = (): Line[] => {
    log.flush();
    return written
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line));
  };
  const unavailable = () => new Problem('store_unavailable', { cause: timeout() });
  const timeout = () => Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' });
  const fail = (path: string, error: unknown = unavailable()) =>
    log.error('request failed', { path, failure: describeFailure(error) });
  const total = () => lines().reduce((sum, { repeated = 1 }) => sum + repeated, 0);

  test('are written in full once, then as one line a minute that says how many there were, and an example', () => {
    for (let count = 0; count < 1_000; count += 1) fail(`/code${count}`);
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toMatchObject({
      event: 'request failed',
      path: '/code0',
      failure: { kind: 'Problem', code: 'store_unavailable', cause: { code: 'ETIMEDOUT' } },
    });
    clock.advance(60_000);
    for (let count = 0; count < 10; count += 1) fail(`/later${count}`);
    clock.advance(60_000);
    const [, second, third] = lines();
    expect(lines()).toHaveLength(3);
    expect(second).toEqual({
      at: '2026-01-01T00:01:00.000Z',
      level: 'error',
      event: 'request failed',
      repeated: 999,
      since: '2026-01-01T00:00:00.000Z',
      failure: {
        kind: 'Problem',
        code: 'store_unavailable',
        message: 'The link store is not available',
        cause: { kind: 'Error', code: 'ETIMEDOUT', message: 'no answer' },
      },
      example: { path: '/code999' },
    });
    expect(third).toMatchObject({ repeated: 10, since: '2026-01-01T00:01:00.000Z' });
    expect(total()).toBe(1_010);
  });

  test('have no stack where an engine is down, and one where the fault is ours', () => {
    fail('/a', new Problem('store_unavailable'));
    fail('/b', new TypeError('ours'));
    expect(lines().map(({ failure }) => typeof failure!.stack)).toEqual(['undefined', 'string']);
  });

  test('are written in full again after a minute without any', () => {
    fail('/a');
    clock.advance(60_000);
    fail('/b');
    expect(lines().map(({ path }) => path)).toEqual(['/a', '/b']);
  });

  test('are distinguished by event, level, kind, code and place, and not by their text', () => {
    const errors = ['a', 'b'].map(words => new Error(words));
    for (const error of errors) log.error('x', { failure: describeFailure(error) });
    expect(lines()).toHaveLength(1);
    log.error('x', { failure: describeFailure(new Error('a')) });
    log.error('x', { failure: describeFailure(timeout()) });
    log.error('y', { failure: describeFailure(errors[0]) });
    log.warn('x', { failure: describeFailure(errors[0]) });
    expect(lines()).toHaveLength(5);
  });

  test('of another thread are distinguished by their text without the numbers in it', () => {
    log.warn('the stream cannot be written', { detail: 'clicks/1 at 55' });
    log.warn('the stream cannot be written', { detail: 'clicks/7 at 56' });
    log.warn('the stream cannot be written', { detail: 'no leader' });
    expect(lines().map(({ detail }) => detail)).toEqual(['clicks/1 at 55', 'no leader']);
  });

  test('of another thread are distinguished by the start of their text, however long it is', () => {
    const long = (end: string) => ({ detail: `cannot read https://example.com/${'x'.repeat(1_000)}${end}` });
    for (const end of ['a', 'b', 'c']) log.warn('the stream cannot be written', long(end));
    for (const end of ['a', 'b', 'c'])
      log.warn('other', { failure: { kind: 'Error', code: 'x'.repeat(1_000) + end } });
    expect(lines()).toHaveLength(2);
    expect(lines()[0]).toMatchObject(long('a'));
  });

  test('are lost when the level leaves their line out by the time it is due, and still counted', () => {
    for (let count = 0; count < 3; count += 1) log.warn('x', { failure: describeFailure(timeout()) });
    log.setLevel('error');
    log.finish();
    expect(lines()).toHaveLength(1);
    expect(log.suppressed.samples('level')).toEqual([{ labels: { level: 'warn' }, value: 2 }]);
  });

  test('are counted to the last one when the log ends, and no timer is left', () => {
    for (let count = 0; count < 5; count += 1) fail('/a');
    log.finish();
    expect(lines()[1]).toMatchObject({ repeated: 4 });
    expect(clock.waiting).toBe(0);
    log.finish();
    expect(lines()).toHaveLength(2);
    fail('/b');
    expect(lines()[2]).toMatchObject({ path: '/b' });
  });

  test('leave no timer when they have ended', () => {
    fail('/a');
    fail('/a');
    expect(clock.waiting).toBe(1);
    clock.advance(60_000);
    expect(clock.waiting).toBeGreaterThan(0);
    clock.advance(120_000);
    expect(clock.waiting).toBe(0);
  });

  test('are bounded, however many ways there are to fail, and none is lost', () => {
    const failure = (kind: string) => ({ failure: { kind, message: 'x' } });
    for (let count = 0; count < 1_000; count += 1) log.error('one event', failure(`kind${count}`));
    expect(lines()).toHaveLength(9);
    for (let event = 0; event < 1_000; event += 1) log.error(`event ${event}`, failure('same'));
    expect(lines().length).toBeLessThan(270);
    clock.advance(60_000);
    expect(total()).toBe(2_000);
    expect(lines().length).toBeLessThan(280);
    expect(lines().filter(({ event }) => event === 'other failures')).toHaveLength(1);
  });

  test('that are not written are counted by level, and lines without a failure are all written', () => {
    for (let count = 0; count < 3; count += 1) {
      log.info('request', { status: 200 });
      log.warn('a worker ended', { worker: 1 });
      fail('/a');
    }
    expect(log.suppressed.samples('level')).toEqual([{ labels: { level: 'error' }, value: 2 }]);
    expect(log.lines.samples('level')).toContainEqual({ labels: { level: 'warn' }, value: 3 });
  });

  test('that the level leaves out are not counted', () => {
    log.setLevel('silent');
    fail('/a');
    fail('/a');
    log.finish();
    expect(lines()).toEqual([]);
    expect(log.suppressed.samples('level')).toEqual([]);
  });
});
