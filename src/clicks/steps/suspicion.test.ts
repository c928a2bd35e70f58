import { describe, expect, test } from 'bun:test';
import { type ClickSignal, clickSignals } from '../click.ts';
import { Suspicion } from './suspicion.ts';

const at = Date.UTC(2026, 5, 1, 12);
const minute = 60_000;

const start = (rates: { addressRate?: number; agentRate?: number }) =>
  new Suspicion({ addressRate: 0, agentRate: 0, groupOf: address => address, seed: 1, ...rates });

/** The signals of clicks, each a moment after the last. */
const judged = (suspicion: Suspicion, visitors: readonly [address: string, agent: string][], from = at) =>
  visitors.map(([address, agent], index): ClickSignal => {
    const signal = suspicion.judge(suspicion.keysOf(address, agent), from + index);
    return clickSignals[signal]!;
  });
const repeated = (count: number, visitor: [string, string]) => Array<[string, string]>(count).fill(visitor);
const suspects = (signals: readonly ClickSignal[]) => signals.filter(signal => signal !== 'none').length;

describe('a suspicious click', () => {
  test('is one beyond the rate of its address, with whatever agents', () => {
    const suspicion = start({ addressRate: 5 });
    const visitors = Array.from({ length: 8 }, (_, n): [string, string] => ['192.0.2.1', `agent ${n}`]);
    expect(judged(suspicion, visitors)).toEqual([
      ...Array<ClickSignal>(5).fill('none'),
      ...Array<ClickSignal>(3).fill('address'),
    ]);
    expect(judged(suspicion, [['192.0.2.2', 'agent 1']])).toEqual(['none']);
  });

  test('is none any more when its address has slowed down', () => {
    const suspicion = start({ addressRate: 5 });
    expect(suspects(judged(suspicion, repeated(20, ['192.0.2.1', 'a'])))).toBe(15);
    expect(suspects(judged(suspicion, repeated(5, ['192.0.2.1', 'a']), at + 2 * minute))).toBe(0);
  });

  test('is one of an agent that makes many clicks from few addresses', () => {
    const suspicion = start({ agentRate: 100 });
    const visitors = Array.from({ length: 200 }, (_, n): [string, string] => [`192.0.2.${n % 5}`, 'tool/1']);
    const signals = judged(suspicion, visitors);
    expect(signals.slice(0, 100).every(signal => signal === 'none')).toBe(true);
    expect(signals.slice(100).every(signal => signal === 'agent')).toBe(true);
    expect(judged(suspicion, [['192.0.2.1', 'other/1']])).toEqual(['none']);
  });

  test('is none of a browser that many people have, however many clicks they make together', () => {
    const suspicion = start({ agentRate: 100 });
    const people = Array.from({ length: 50_000 }, (_, n): [string, string] => [
      `10.${n >> 15}.${(n >> 7) & 255}.${(n >> 1) & 63}`,
      'Chrome',
    ]);
    expect(suspects(judged(suspicion, people))).toBe(0);
  });

  test('belongs to the group of its address, such as a network', () => {
    const suspicion = new Suspicion({
      addressRate: 3,
      agentRate: 0,
      groupOf: address => address.split('::')[0]!,
      seed: 1,
    });
    const visitors = Array.from({ length: 5 }, (_, n): [string, string] => [`2001:db8:1:2::${n}`, 'a']);
    expect(suspects(judged(suspicion, visitors))).toBe(2);
  });

  test('is never one when no rate is set', () => {
    expect(suspects(judged(start({}), repeated(10_000, ['192.0.2.1', 'a'])))).toBe(0);
  });

  test('is counted by what gave it away', () => {
    const suspicion = start({ addressRate: 150, agentRate: 100 });
    judged(suspicion, repeated(200, ['192.0.2.1', 'tool/1']));
    expect(suspicion.found).toEqual({ agent: 50, address: 50 });
  });
});
