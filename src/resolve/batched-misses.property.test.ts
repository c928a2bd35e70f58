import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { BatchedReads } from '../base/batched-reads.ts';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { seededRandom } from '../base/random.ts';
import type { Link } from '../links/link.ts';
import { sampleLink } from '../links/store-samples.ts';
import { Horizon } from './horizon.ts';
import { Resolver } from './resolver.ts';

/**
 * A resolver on a store that reads in batches. A batch takes its values when it is sent, and answers when the test says
 * so.
 */
class BatchingWorld {
  readonly #clock = new ManualClock();
  readonly #links = new Map<string, Link>();
  readonly #batches: (() => void)[] = [];
  /** The keys of each batch. */
  readonly sent: (readonly string[])[] = [];
  readonly resolver: Resolver;
  isFailing = false;

  constructor(codes: readonly string[]) {
    for (const code of codes) this.#links.set(code, sampleLink(code, { version: 1 }));
    const reads = new BatchedReads<Link>({
      clock: this.#clock,
      keysMax: 3,
      deadlineMs: 1_000,
      read: keys => {
        this.sent.push(keys);
        const found = new Map(keys.flatMap(code => this.#entryOf(code)));
        const { isFailing } = this;
        const { promise, resolve, reject } = Promise.withResolvers<typeof found>();
        this.#batches.push(() => (isFailing ? reject(new Problem('store_unavailable')) : resolve(found)));
        return promise;
      },
    });
    this.resolver = new Resolver({
      store: { find: code => reads.get(code) },
      horizon: new Horizon(() => undefined),
      follower: { isBehind: () => false, catchUp: async () => {} },
      freshness: { provenAtMs: 0 },
      outage: { isStoreFailing: () => false, mayAskCache: () => false, staleMaxMs: 0 },
      isFollowable: () => true,
      clock: this.#clock,
      random: seededRandom(1),
      entriesMax: 100,
      bytesMax: 1_000_000,
      ttlMs: 60_000,
      negativeTtlMs: 60_000,
    });
  }

  versionOf(code: string): number {
    return this.#links.get(code)!.version;
  }

  change(code: string): void {
    const link = this.#links.get(code)!;
    this.#links.set(code, { ...link, version: link.version + 1 });
    this.resolver.invalidate(code);
  }

  async answer(batch: number): Promise<void> {
    const [end] = this.#batches.splice(batch % Math.max(1, this.#batches.length), 1);
    end?.();
    await yieldToEventLoop();
  }

  async answerAll(): Promise<void> {
    while (this.#batches.length > 0) await this.answer(0);
  }

  #entryOf(code: string): [string, Link][] {
    const link = this.#links.get(code);
    return link === undefined ? [] : [[code, link]];
  }
}

const codes = ['a', 'b', 'c', 'd', 'e'];
const code = fc.constantFrom(...codes);
const step = fc.oneof(
  fc.record({ kind: fc.constant('visit' as const), code }),
  fc.record({ kind: fc.constant('change' as const), code }),
  fc.record({ kind: fc.constant('send' as const) }),
  fc.record({ kind: fc.constant('fail' as const), isFailing: fc.boolean() }),
  fc.record({ kind: fc.constant('answer' as const), batch: fc.nat(5) }),
);

test('no visit gets a link as it was before a change that ended before the visit, whatever its batch read', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
      const world = new BatchingWorld(codes);
      const visits: Promise<void>[] = [];
      const visit = (visited: string): void => {
        const atLeast = world.versionOf(visited);
        const isFulfilled = Promise.resolve(world.resolver.resolve(visited)).then(
          link => {
            expect(link?.version).toBeGreaterThanOrEqual(atLeast);
          },
          error => {
            expect(error).toMatchObject({ code: 'store_unavailable' });
          },
        );
        visits.push(isFulfilled);
      };
      for (const each of steps) {
        if (each.kind === 'visit') visit(each.code);
        else if (each.kind === 'change') world.change(each.code);
        else if (each.kind === 'send') await yieldToEventLoop();
        else if (each.kind === 'answer') await world.answer(each.batch);
        else world.isFailing = each.isFailing;
      }
      world.isFailing = false;
      await yieldToEventLoop();
      await world.answerAll();
      for (const each of codes) visit(each);
      await yieldToEventLoop();
      await world.answerAll();
      await Promise.all(visits);
      // Memory now has the same versions as the store.
      for (const each of codes) {
        const known = world.resolver.recall(each);
        expect(typeof known === 'object' ? known.version : 'nothing').toBe(world.versionOf(each));
      }
    }),
  );
});

test('visitors of many cold links make one read per batch, and visitors of one cold link one in all', async () => {
  const world = new BatchingWorld(codes);
  const many = Array.from({ length: 10_000 }, () => world.resolver.resolve('a'));
  const others = ['b', 'c', 'd', 'nothing'].map(each => world.resolver.resolve(each));
  await yieldToEventLoop();
  expect(world.sent).toEqual([
    ['a', 'b', 'c'],
    ['d', 'nothing'],
  ]);
  await world.answerAll();
  expect(new Set((await Promise.all(many)).map(link => link?.code))).toEqual(new Set(['a']));
  expect((await Promise.all(others)).map(link => link?.code)).toEqual(['b', 'c', 'd', undefined]);
  expect(world.resolver.storeReads).toBe(5);
});
