/**
 * Whatever fails in the shared cache, its messages and the processes, in any order, no visitor is sent to a destination
 * that was replaced more than two seconds ago. Memory entries live here until the feed reports a change, so a stale
 * record that gets through anywhere would stay.
 */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { heavyTestMaxMs, scaled } from '../../test/kit/scale.ts';
import { type FakeProcess, settle, World } from './fake-processes.ts';

const codes = ['a', 'b'];
const processCount = 3;
const staleMaxMs = 2_000;

type Step =
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: ProcessStep; readonly process: number; readonly code: string }
  | { readonly kind: 'copy' | 'restart' | 'restore' | 'flush' | 'prune' };

const processSteps = [
  'visit',
  'slow visit',
  'change',
  'change and die',
  'silent change',
  'cut off',
  'lose a server',
  'return',
  'deafen',
  'mute',
  'heal',
  'die',
] as const;
type ProcessStep = (typeof processSteps)[number];

const processStep = fc.record({
  kind: fc.constantFrom(...processSteps),
  process: fc.nat(processCount - 1),
  code: fc.constantFrom(...codes),
});
const visitStep = processStep.map(step => ({ ...step, kind: 'visit' as const }));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: processStep },
  { weight: 4, arbitrary: visitStep },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 50, max: 4_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constant(70_000) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('copy' as const, 'restart', 'restore', 'flush', 'prune') }),
  },
);

class Story {
  readonly world = new World();
  readonly processes: FakeProcess[] = [];
  readonly #history = new Map<string, { readonly atMs: number; readonly version: number }[]>();
  readonly #visits: Promise<unknown>[] = [];
  readonly #releases: (() => void)[] = [];
  #copy = this.world.snapshot();

  async begin(): Promise<void> {
    for (const code of codes) {
      await this.world.create(code);
      this.#history.set(code, [{ atMs: 0, version: 1 }]);
    }
    for (let n = 0; n < processCount; n += 1) this.processes.push(await this.world.start());
  }

  async play(step: Step): Promise<void> {
    if (step.kind === 'pass') {
      await this.world.pass(step.ms);
      for (const release of this.#releases.splice(0)) release();
    } else if ('process' in step) {
      await this.#playIn(step.process, step.kind, step.code);
    } else {
      await this.#playInCache(step.kind);
    }
    await settle();
  }

  async end(): Promise<void> {
    for (const release of this.#releases.splice(0)) release();
    for (const { cache } of this.processes) cache.return();
    await this.world.pass(staleMaxMs + 200);
    for (const process of this.processes) {
      for (const code of codes) this.#visit(process, code);
    }
    for (const fault of await Promise.all(this.#visits)) expect(fault).toBeUndefined();
  }

  async #playIn(n: number, kind: ProcessStep, code: string): Promise<void> {
    const process = this.processes[n]!;
    const { cache } = process;
    if (kind === 'slow visit') this.#releases.push(this.world.hold(code));
    if (kind === 'slow visit' || kind === 'visit') this.#visit(process, code);
    if (kind === 'change') this.#note(code, await process.change(code));
    if (kind === 'silent change') this.#note(code, await this.world.change(code));
    if (kind === 'change and die') {
      // The process dies at any point of the announcement.
      const version = this.world.change(code);
      void process.invalidation.announce([code]);
      this.#note(code, await version);
    }
    if (kind === 'change and die' || kind === 'die') {
      process.die();
      this.processes[n] = await this.world.start();
    }
    if (kind === 'cut off') cache.isDown = true;
    if (kind === 'lose a server') cache.lost.add(code);
    if (kind === 'return') cache.return();
    if (kind === 'deafen') cache.isDeaf = true;
    if (kind === 'mute') cache.isMute = true;
    if (kind === 'heal') cache.isDeaf = cache.isMute = false;
  }

  async #playInCache(kind: 'copy' | 'restart' | 'restore' | 'flush' | 'prune'): Promise<void> {
    const { store, contents } = this.world;
    if (kind === 'copy') this.#copy = this.world.snapshot();
    if (kind === 'prune')
      await store.prune({ answersBefore: 0, changesBefore: Number.MAX_SAFE_INTEGER }, 1_000);
    if (kind === 'copy' || kind === 'prune') return;
    for (const { cache } of this.processes) cache.isDown = true;
    await settle();
    if (kind === 'restore') this.world.restore(this.#copy);
    if (kind === 'flush') {
      contents.entries.clear();
      contents.checkpoint = undefined;
    }
    for (const { cache } of this.processes) cache.return();
  }

  #note(code: string, version: number): void {
    this.#history.get(code)!.push({ atMs: this.world.clock.monotonicMs(), version });
  }

  /** Not awaited here, because the store may be slow to answer. */
  #visit(process: FakeProcess, code: string): void {
    const oldestMs = this.world.clock.monotonicMs() - staleMaxMs;
    const bound = this.#history.get(code)!.findLast(({ atMs }) => atMs <= oldestMs)?.version ?? 1;
    const judged = process.visit(code).then(version => {
      if (version < bound) return `${code} was sent to version ${version} when ${bound} was two seconds old`;
      return undefined;
    });
    this.#visits.push(judged);
  }
}

test(
  'no visitor is sent to a destination that a link left two seconds ago, whatever happens',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }), async steps => {
        const story = new Story();
        await story.begin();
        for (const each of steps) await story.play(each);
        await story.end();
      }),
      { numRuns: scaled(500, 20_000) },
    );
  },
  heavyTestMaxMs,
);
