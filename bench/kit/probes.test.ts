import { expect, test } from 'bun:test';
import { until } from '../../test/kit/until.ts';
import { type Probe, recoveryMs, startProbing } from './probes.ts';

const probesOf = (...states: readonly ('quick' | 'slow' | 'refused')[]): Probe[] =>
  states.map((state, index) => ({
    startedAtMs: 1_000 + index * 10,
    latencyMs: state === 'slow' ? 500 : 1,
    isServed: state !== 'refused',
  }));
const quick = Array.from({ length: 10 }, () => 'quick' as const);

test('a server has recovered with the first of ten visitors in a row who were served quickly', () => {
  expect(recoveryMs(probesOf('slow', 'refused', ...quick), 1_000, 10)).toBe(20);
  expect(recoveryMs(probesOf('slow', 'quick', 'slow', ...quick), 1_000, 10)).toBe(30);
  expect(recoveryMs(probesOf(...quick), 1_000, 10)).toBe(0);
});

test('what was before the end of the load does not count, and nine are not enough', () => {
  expect(recoveryMs(probesOf('slow', ...quick), 1_020, 10)).toBeUndefined();
  expect(recoveryMs(probesOf('slow', ...quick.slice(1)), 1_000, 10)).toBeUndefined();
  expect(recoveryMs([], 0, 10)).toBeUndefined();
});

test('probes report who was served, who was rejected, and that no server answered', async () => {
  let status = 302;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response(null, { status, headers: { Location: '/elsewhere' } }),
  });
  const probing = startProbing(`http://127.0.0.1:${server.port}/`);
  const seen = async (isServed: boolean) => {
    await until('the probes to notice', () => probing.probes.at(-1)?.isServed === isServed);
  };
  await seen(true);
  status = 503;
  await seen(false);
  status = 302;
  await seen(true);
  await server.stop(true);
  await seen(false);
  await probing.stop();
});
