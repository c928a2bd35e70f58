import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import type { Inspection } from './checker.ts';
import { Recheck } from './recheck.ts';

function harness({ linksMax = 1_000 } = {}) {
  const clock = new ManualClock();
  const state = {
    generation: 1,
    bad: new Set<string>(),
    isDown: false,
    inspected: [] as string[],
    handed: [] as string[][],
    faults: 0,
    refuses: false,
  };
  const recheck = new Recheck({
    clock,
    linksMax,
    generation: () => state.generation,
    async inspect(url): Promise<Inspection> {
      state.inspected.push(url);
      if (state.isDown) return { verdict: 'unknown' };
      return state.bad.has(url) ? { verdict: 'listed', threat: 'malware' } : { verdict: 'clean' };
    },
    async onListed(...handed) {
      if (state.refuses) throw new Error('not now');
      state.handed.push(handed);
    },
    onFault: () => {
      state.faults += 1;
    },
  });
  return { clock, state, recheck };
}

describe('links in use', () => {
  test('are checked once, and again after each update of the lists', async () => {
    const { recheck, state } = harness();
    recheck.see('a', 'https://a.example/');
    recheck.see('b', 'https://b.example/');
    await recheck.step();
    recheck.see('a', 'https://a.example/');
    await recheck.step();
    expect(state.inspected).toEqual(['https://a.example/', 'https://b.example/']);
    state.generation = 2;
    state.bad.add('https://b.example/');
    await recheck.step();
    expect(state.handed).toEqual([['b', 'malware', 'https://b.example/']]);
    expect([recheck.checked, recheck.listed]).toEqual([4, 1]);
    await recheck.step();
    expect(state.handed).toHaveLength(1);
  });

  test('are checked again when they point elsewhere', async () => {
    const { recheck, state } = harness();
    recheck.see('a', 'https://a.example/');
    await recheck.step();
    recheck.see('a', 'https://evil.example/');
    await recheck.step();
    expect(state.inspected).toEqual(['https://a.example/', 'https://evil.example/']);
    expect(recheck.size).toEqual({ links: 1, due: 0 });
  });

  test('stay due while no check can be made, and are not tried all at once', async () => {
    const { recheck, state } = harness();
    for (const code of ['a', 'b', 'c']) recheck.see(code, `https://${code}.example/`);
    state.isDown = true;
    await recheck.step();
    await recheck.step();
    expect(state.inspected).toEqual(['https://a.example/', 'https://b.example/']);
    expect(recheck.size).toEqual({ links: 3, due: 3 });
    state.isDown = false;
    await recheck.step();
    expect(recheck.size).toEqual({ links: 3, due: 0 });
  });

  test('stay due when handling them fails', async () => {
    const { recheck, state } = harness();
    recheck.see('a', 'https://evil.example/');
    state.bad.add('https://evil.example/');
    state.refuses = true;
    await recheck.step();
    expect([state.faults, recheck.size.due, recheck.listed]).toEqual([1, 1, 0]);
    state.refuses = false;
    await recheck.step();
    expect(state.handed).toHaveLength(1);
  });

  test('are checked in turn, so that one in constant use does not wait forever', async () => {
    const { recheck, state } = harness();
    recheck.see('hot', 'https://hot.example/');
    for (let index = 0; index < 300; index += 1) recheck.see(`c${index}`, `https://c${index}.example/`);
    recheck.see('hot', 'https://hot.example/');
    await recheck.step();
    expect(state.inspected[0]).toBe('https://hot.example/');
    expect(state.inspected).toHaveLength(200);
    await recheck.step();
    expect(state.inspected).toHaveLength(301);
  });

  test('are remembered up to a limit; those checked and not seen since are evicted first', async () => {
    const { recheck, state } = harness({ linksMax: 3 });
    for (const code of ['a', 'b', 'c']) recheck.see(code, `https://${code}.example/`);
    await recheck.step();
    recheck.see('a', 'https://a.example/');
    recheck.see('d', 'https://d.example/');
    expect(recheck.size).toEqual({ links: 3, due: 1 });
    state.generation = 2;
    state.inspected.length = 0;
    await recheck.step();
    expect(state.inspected.sort()).toEqual([
      'https://a.example/',
      'https://c.example/',
      'https://d.example/',
    ]);
  });

  test('are checked by the clock alone until it is stopped', async () => {
    const { recheck, state, clock } = harness();
    recheck.start();
    recheck.see('a', 'https://a.example/');
    clock.advance(1_000);
    await recheck.stop();
    expect(state.inspected).toHaveLength(1);
    recheck.see('b', 'https://b.example/');
    clock.advance(10_000);
    expect(state.inspected).toHaveLength(1);
  });
});
