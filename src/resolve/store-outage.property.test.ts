/**
 * Processes that lose the store, messages and the shared cache in any order. Two guarantees: an acknowledged change
 * reaches every process within two seconds, whichever of them reach the store; and a link that a process knows never
 * fails because the store is down.
 */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { heavyTestMaxMs, scaled } from '../../test/kit/scale.ts';
import { type FakeProcess, settle, World } from './fake-processes.ts';

const codes = ['a', 'b'];
const processCount = 3;
const staleMaxMs = 2_000;

const faults = ['lose the store', 'find the store', 'deafen', 'mute', 'heal'] as const;
const cacheSteps = ['empty', 'evict'] as const;

const passStep = fc.record({
  kind: fc.constant('pass' as const),
  ms: fc.oneof(fc.integer({ min: 50, max: 4_000 }), fc.constant(15_000)),
});
const stepOf = <Kind extends string>(kinds: readonly Kind[]) =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    process: fc.nat(processCount - 1),
    code: fc.constantFrom(...codes),
  });

async function startAll(staleMaxMs: number): Promise<{ world: World; processes: FakeProcess[] }> {
  const world = new World({ staleMaxMs });
  for (const code of codes) await world.create(code);
  const processes: FakeProcess[] = [];
  for (let n = 0; n < processCount; n += 1) processes.push(await world.start());
  await world.pass(2_000);
  for (const process of processes) for (const code of codes) expect(await process.visit(code)).toBe(1);
  return { world, processes };
}

function play(
  kind: (typeof faults)[number] | 'lose the cache' | 'find the cache',
  process: FakeProcess,
): void {
  const { cache } = process;
  if (kind === 'lose the store') process.isStoreCut = true;
  if (kind === 'find the store') process.isStoreCut = false;
  if (kind === 'deafen') cache.isDeaf = true;
  if (kind === 'mute') cache.isMute = true;
  if (kind === 'heal') cache.isDeaf = cache.isMute = false;
  if (kind === 'lose the cache') cache.isDown = true;
  if (kind === 'find the cache') cache.return();
}

async function playInCache(kind: (typeof cacheSteps)[number], world: World, all: FakeProcess[]) {
  // A full cache evicts what was used least recently: a fence, which is seconds old, stays.
  for (const [code, held] of world.contents.entries)
    if (kind === 'empty' || !('fencedUntilMs' in held)) world.contents.entries.delete(code);
  if (kind === 'evict') return;
  const there = all.filter(({ cache }) => !cache.isDown);
  for (const { cache } of there) cache.isDown = true;
  await settle();
  world.contents.checkpoint = undefined;
  for (const { cache } of there) cache.return();
}

test(
  'an acknowledged change reaches every process within two seconds, even those without the store or messages',
  async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: stepOf(faults) },
      { weight: 4, arbitrary: stepOf(['change', 'unheard change', 'visit'] as const) },
      { weight: 4, arbitrary: passStep },
      { weight: 1, arbitrary: stepOf(cacheSteps) },
      { weight: 1, arbitrary: stepOf(['replace'] as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }), async steps => {
        const { world, processes } = await startAll(0);
        const history = new Map(codes.map(code => [code, [{ atMs: 0, version: 1 }]]));
        const visit = async (process: FakeProcess, code: string) => {
          const oldestMs = world.clock.monotonicMs() - staleMaxMs;
          const bound = history.get(code)!.findLast(({ atMs }) => atMs <= oldestMs)?.version ?? 1;
          // Failing is allowed here: the store may be the only one with the record.
          const version = await process.visit(code).catch(() => Number.POSITIVE_INFINITY);
          expect(version).toBeGreaterThanOrEqual(bound);
        };
        for (const each of steps) {
          if (each.kind === 'pass') {
            await world.pass(each.ms);
            continue;
          }
          const process = processes[each.process]!;
          if (each.kind === 'visit') await visit(process, each.code);
          else if (each.kind === 'empty' || each.kind === 'evict')
            await playInCache(each.kind, world, processes);
          else if (each.kind === 'replace') {
            process.die();
            processes[each.process] = await world.start();
            // The channel proves nothing about a process that never sent on it, so all of them connect once.
            for (const { cache } of processes) cache.isDeaf = cache.isMute = false;
            await world.pass(1_200);
          } else if (each.kind !== 'change' && each.kind !== 'unheard change') play(each.kind, process);
          else if (!process.isStoreCut) {
            // Only a process that reaches the store can acknowledge a change.
            const wasMute = process.cache.isMute;
            process.cache.isMute ||= each.kind === 'unheard change';
            const version = await process.change(each.code);
            process.cache.isMute = wasMute;
            history.get(each.code)!.push({ atMs: world.clock.monotonicMs(), version });
          }
          await settle();
        }
        await world.pass(staleMaxMs + 200);
        for (const process of processes) for (const code of codes) await visit(process, code);
      }),
      { numRuns: scaled(300, 20_000) },
    );
  },
  heavyTestMaxMs,
);

test(
  'a link that a process knows never fails because the store is down, whatever happens to the shared cache',
  async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: stepOf([...faults, 'lose the cache', 'find the cache'] as const) },
      { weight: 4, arbitrary: passStep },
      { weight: 2, arbitrary: stepOf(cacheSteps) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async steps => {
        const { world, processes } = await startAll(3_600_000);
        for (const each of steps) {
          if (each.kind === 'pass') await world.pass(each.ms);
          else if (each.kind === 'empty' || each.kind === 'evict')
            await playInCache(each.kind, world, processes);
          else play(each.kind, processes[each.process]!);
          await settle();
          // The time before the outage is detected is covered by `isStoreFailing`.
          await world.pass(2_000);
          for (const process of processes)
            for (const code of codes) expect(await process.visit(code)).toBe(1);
        }
      }),
      { numRuns: scaled(150, 5_000) },
    );
  },
  heavyTestMaxMs,
);
