import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { WorkInTurn } from './work-in-turn.ts';

describe('work in turn', () => {
  const problems: string[] = [];
  const work = new WorkInTurn((what, error) => problems.push(`${what}: ${(error as Error).message}`));

  test('is done one after the other, also after a failure, which is whoever’s asked for it', async () => {
    const done: string[] = [];
    const first = work.do(async () => {
      await Bun.sleep(5);
      done.push('first');
      throw new Error('no');
    });
    const second = work.do(async () => done.push('second'));
    await expect(first).rejects.toThrow('no');
    await second;
    expect(done).toEqual(['first', 'second']);
  });

  test('that nobody waits for tells of its failure', async () => {
    await work.inBackground('it failed', () => Promise.reject(new Error('why')));
    expect(problems).toEqual(['it failed: why']);
  });

  test('that comes again and again does not pile up while it takes long', async () => {
    const clock = new ManualClock();
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    const stop = work.every(clock, 10, 'never', () => {
      begun += 1;
      return gate.promise;
    });
    clock.advance(50);
    await Bun.sleep(0);
    expect(begun).toBe(1);
    gate.resolve();
    await work.do(async () => {});
    clock.advance(10);
    await work.do(async () => {});
    expect(begun).toBe(2);
    stop();
    clock.advance(50);
    await work.do(async () => {});
    expect(begun).toBe(2);
  });
});
