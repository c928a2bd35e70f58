import { expect, test } from 'bun:test';
import { effectsOf, nameOf, type PlanOptions, plan } from './fault-injector.ts';

const options: PlanOptions = {
  seed: 7,
  set: 'postgres',
  processes: 3,
  hasClocks: true,
  count: 200,
  restsMs: [[1_000, 2_000]],
};

test('the same seed plans the same faults, another one others', () => {
  expect(plan(options)).toEqual(plan(options));
  expect(plan(options)).not.toEqual(plan({ ...options, seed: 8 }));
});

test('a longer run begins like a shorter one', () => {
  expect(plan({ ...options, count: 300 }).slice(0, 200)).toEqual(plan(options));
});

test('rests are taken in turn', () => {
  const planned = plan({
    ...options,
    count: 5,
    restsMs: [
      [1_000, 2_000],
      [16_000, 17_000],
      [10, 10],
    ],
  });
  expect(planned.map(({ restMs }) => [restMs >= 1_000, restMs >= 16_000])).toEqual([
    [true, false],
    [true, true],
    [false, false],
    [true, false],
    [true, true],
  ]);
});

test.each(['postgres', 'dynamodb'] as const)('every part of %s fails in every way', set => {
  const actions = plan({ ...options, set }).flatMap(fault => fault.actions);
  const broken = new Set(
    actions.flatMap(action => effectsOf(action).map(({ part }) => `${part} ${action.does}`)),
  );
  const engines = set === 'postgres' ? ['store', 'redis', 'stream', 'stats'] : ['store', 'redis'];
  const linked = set === 'postgres' ? ['store', 'redis', 'stats', 'clients'] : ['store', 'redis', 'clients'];
  expect([...broken].sort()).toEqual(
    [
      ...[...engines, 'process'].flatMap(part => [`${part} kill`, `${part} pause`]),
      ...linked.flatMap(part => [`${part} refused`, `${part} swallowed`]),
      'process stop',
      'clock set clock',
    ].sort(),
  );
});

test('two actions of one fault have different targets, and both are in its name', () => {
  const pairs = plan(options).filter(({ actions }) => actions.length > 1);
  expect(pairs.length).toBeGreaterThan(20);
  for (const { actions } of pairs) expect(nameOf(actions, 'postgres')).toContain(' + ');
});

test('clocks are left alone where they cannot be set', () => {
  const actions = plan({ ...options, hasClocks: false }).flatMap(fault => fault.actions);
  expect(actions.some(({ does }) => does === 'set clock')).toBe(false);
});
