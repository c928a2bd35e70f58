import { expect, test } from 'bun:test';
import { effectsOf, nameOf, type PlanOptions, plan } from './nemesis.ts';

const options: PlanOptions = {
  seed: 7,
  set: 'postgres',
  processes: 3,
  hasClocks: true,
  count: 200,
  restMs: [1_000, 2_000],
};

test('the same seed plans the same faults, another one others', () => {
  expect(plan(options)).toEqual(plan(options));
  expect(plan(options)).not.toEqual(plan({ ...options, seed: 8 }));
});

test('a longer run begins like a shorter one', () => {
  expect(plan({ ...options, count: 300 }).slice(0, 200)).toEqual(plan(options));
});

test.each(['postgres', 'dynamodb'] as const)('every part of %s fails in every way', set => {
  const strikes = plan({ ...options, set }).flatMap(fault => fault.strikes);
  const broken = new Set(
    strikes.flatMap(strike => effectsOf(strike).map(({ part }) => `${part} ${strike.does}`)),
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

test('two strikes of one fault have different targets, and a name of both', () => {
  const pairs = plan(options).filter(({ strikes }) => strikes.length > 1);
  expect(pairs.length).toBeGreaterThan(20);
  for (const { strikes } of pairs) expect(nameOf(strikes, 'postgres')).toContain(' + ');
});

test('clocks are left alone where they cannot be set', () => {
  const strikes = plan({ ...options, hasClocks: false }).flatMap(fault => fault.strikes);
  expect(strikes.some(({ does }) => does === 'set clock')).toBe(false);
});
