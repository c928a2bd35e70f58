import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { linkFields, linkStatuses, redirectTypes } from '../links/fields.ts';
import type { Link } from '../links/link.ts';
import { allFlags, sampleLink } from '../links/store-samples.ts';
import { type Knowledge, LinkMemory } from './link-memory.ts';

const known: Knowledge = {
  readAtMs: 1_234.5,
  lifetimeMs: 1_900.25,
  loadMs: 1,
  renewAtMs: Number.POSITIVE_INFINITY,
  policyEpoch: 3,
  cacheEpoch: 4,
  isFollowable: true,
  isPlain: false,
};
const roomy = 2 ** 22;
const memoryOf = (entriesMax: number, bytesMax = roomy): LinkMemory =>
  new LinkMemory({ entriesMax, bytesMax, seed: 7 });

/** SIEVE as it is published: the oldest first, and a hand that stands at one of them. */
class SieveModel {
  readonly #capacity: number;
  readonly items: { readonly code: string; link: Link | undefined; isVisited: boolean }[] = [];
  #hand: string | undefined;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  find(code: string) {
    return this.items.find(item => item.code === code);
  }

  keep(code: string, link: Link | undefined): void {
    const item = this.find(code);
    if (item !== undefined) {
      item.link = link;
      item.isVisited = true;
      return;
    }
    if (this.items.length === this.#capacity) this.#evict();
    this.items.push({ code, link, isVisited: false });
  }

  delete(code: string): void {
    const at = this.items.findIndex(item => item.code === code);
    if (at === -1) return;
    if (this.#hand === code) this.#hand = this.items[at + 1]?.code;
    this.items.splice(at, 1);
  }

  clear(): void {
    this.items.length = 0;
    this.#hand = undefined;
  }

  #evict(): void {
    let at = this.items.findIndex(({ code }) => code === this.#hand);
    for (at = Math.max(0, at); this.items[at]!.isVisited; at = (at + 1) % this.items.length)
      this.items[at]!.isVisited = false;
    this.#hand = this.items[at + 1]?.code;
    this.items.splice(at, 1);
  }
}

const code = fc.oneof(
  fc.integer({ min: 0, max: 30 }).map(n => `k${n}`),
  fc.constantFrom('x'.repeat(59), 'x'.repeat(60), 'x'.repeat(64), 'x'.repeat(61), 'größe', '漢字'),
);
const time = fc.integer({ min: 0, max: 8.64e15 });
/** Any value that the kind of a field allows, so that a field that is added is covered. */
const values = {
  text: fc.string({ unit: 'grapheme', maxLength: 200 }),
  flag: fc.boolean(),
  count: fc.oneof(fc.integer({ min: 0 }), fc.constantFrom(Number.MAX_SAFE_INTEGER, 0.5, -1)),
  time,
  texts: fc.array(fc.string({ maxLength: 20 }), { maxLength: 4 }),
  risk: fc.record({ score: fc.integer({ min: 0, max: 100 }), reasons: fc.array(fc.string()) }),
};
const link = fc.record(
  Object.fromEntries(
    Object.entries(linkFields).map(([name, { kind, isNullable, choices }]) => {
      const value = kind === 'choice' ? fc.constantFrom(...(choices as readonly unknown[])) : values[kind];
      return [name, isNullable ? fc.option(value as fc.Arbitrary<unknown>) : value];
    }),
  ),
) as unknown as fc.Arbitrary<Link>;
const step = fc.oneof(
  fc.record({ kind: fc.constant('keep' as const), code, link: fc.option(link, { nil: undefined }) }),
  fc.record({ kind: fc.constant('visit' as const), code }),
  fc.record({ kind: fc.constant('delete' as const), code }),
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const) }) },
);
const steps = fc.array(step, { maxLength: 150 });

/** What is in memory under a code: undefined for nothing. */
function held(memory: LinkMemory, of: string): { link: Link | undefined } | undefined {
  const entry = memory.find(of);
  return entry === 0 ? undefined : { link: memory.link(entry) };
}

describe('links in memory', () => {
  test('are the same as in a simple SIEVE cache, and unchanged', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), steps, (capacity, run) => {
        const memory = memoryOf(capacity);
        const model = new SieveModel(capacity);
        const codes = new Set<string>();
        for (const each of run) {
          if (each.kind === 'clear') {
            memory.clear();
            model.clear();
          } else if (each.kind === 'delete') {
            memory.delete(each.code);
            model.delete(each.code);
          } else if (each.kind === 'visit') {
            const entry = memory.find(each.code);
            if (entry !== 0) memory.visit(entry);
            const item = model.find(each.code);
            if (item !== undefined) item.isVisited = true;
          } else {
            codes.add(each.code);
            const given = each.link && { ...each.link, code: each.code };
            memory.keep(each.code, given, known);
            model.keep(each.code, given);
          }
          expect(memory.size).toBe(model.items.length);
          for (const of of codes) {
            const item = model.find(of);
            expect(held(memory, of)).toEqual(item && { link: item.link });
          }
        }
      }),
    );
  });

  test('take no more than the allowed bytes, and always include the newest', () => {
    const bytesMax = 4_096;
    fc.assert(
      fc.property(steps, run => {
        const memory = memoryOf(1_000, bytesMax);
        for (const each of run) {
          if (each.kind !== 'keep') continue;
          const given = each.link && { ...each.link, code: each.code };
          memory.keep(each.code, given, known);
          expect(held(memory, each.code)).toEqual({ link: given });
          // An entry has two blocks at least.
          expect(memory.size).toBeLessThanOrEqual(bytesMax / 128);
        }
      }),
    );
  });

  test('one that is larger than the memory is not kept, and leaves no older version of itself', () => {
    const memory = memoryOf(10, 1_024);
    memory.keep('big', sampleLink('big'), known);
    memory.keep('other', sampleLink('other'), known);
    memory.keep('big', sampleLink('big', { longUrl: `https://example.com/${'x'.repeat(2_000)}` }), known);
    expect(held(memory, 'big')).toBeUndefined();
    memory.keep('big', sampleLink('big'), known);
    expect(held(memory, 'big')).toEqual({ link: sampleLink('big') });
  });

  test('have their fields, which change by themselves', () => {
    const memory = memoryOf(10);
    for (const [place, redirectType] of redirectTypes.entries()) {
      const given = sampleLink(`t${place}`, { redirectType, ...allFlags, status: linkStatuses[place]! });
      memory.keep(given.code, given, { ...known, isPlain: place === 0 });
      const entry = memory.find(given.code);
      expect(memory.redirectType(entry)).toBe(redirectType);
      expect([memory.isPlain(entry), memory.isFollowable(entry), memory.hasLink(entry)]).toEqual([
        place === 0,
        true,
        true,
      ]);
      expect(memory.longUrl(entry)).toBe(given.longUrl);
    }
    const entry = memory.find('t1');
    memory.judged(entry, 9, false, true);
    memory.renewed(entry, 5, 77.5);
    memory.setClickNumber(entry, 2, 31);
    memory.visit(entry);
    expect([memory.policyEpoch(entry), memory.isFollowable(entry), memory.isPlain(entry)]).toEqual([
      9,
      false,
      true,
    ]);
    expect([memory.cacheEpoch(entry), memory.renewAtMs(entry)]).toEqual([5, 77.5]);
    expect([memory.clickNumbering(entry), memory.clickNumber(entry)]).toEqual([2, 31]);
    expect([memory.readAtMs(entry), memory.lifetimeMs(entry), memory.loadMs(entry)]).toEqual([
      known.readAtMs,
      known.lifetimeMs,
      known.loadMs,
    ]);
    expect(memory.link(entry)).toMatchObject({ code: 't1', redirectType: 302, ...allFlags });
    const target = new Uint8Array(100);
    const end = memory.copyUrl(entry, target, 5);
    expect(Buffer.from(target.subarray(5, end)).toString()).toBe('https://example.com/t1');
    // The entry that replaces it was never counted.
    memory.keep('t1', sampleLink('t1'), known);
    expect(memory.clickNumbering(memory.find('t1'))).toBe(0);
  });

  test('follow the published example: the hand spares visited codes and goes on from where it stopped', () => {
    const memory = memoryOf(4);
    const visit = (of: string): void => memory.visit(memory.find(of));
    for (const of of ['a', 'b', 'c', 'd']) memory.keep(of, undefined, known);
    visit('a');
    visit('c');
    memory.keep('e', undefined, known); // a is spared and loses its bit, b goes
    expect(memory.find('b')).toBe(0);
    memory.keep('f', undefined, known); // the hand stands at c: spared; d goes
    expect(['a', 'c', 'd', 'e', 'f'].filter(of => memory.find(of) !== 0)).toEqual(['a', 'c', 'e', 'f']);
  });

  test('stay through a scan of cold ones while they are warm', () => {
    const memory = memoryOf(100);
    const visit = (of: string): void => memory.visit(memory.find(of));
    for (let n = 0; n < 100; n += 1) memory.keep(`warm${n}`, sampleLink(`warm${n}`), known);
    for (let n = 0; n < 50; n += 1) visit(`warm${n}`);
    for (let n = 0; n < 1_000; n += 1) {
      memory.keep(`cold${n}`, sampleLink(`cold${n}`), known);
      visit(`warm${n % 50}`);
    }
    expect(Array.from({ length: 50 }, (_, n) => memory.find(`warm${n}`))).not.toContain(0);
  });

  test('are found among very many, and after many were dropped', () => {
    const memory = memoryOf(50_000, 2 ** 26);
    for (let n = 0; n < 120_000; n += 1) memory.keep(`c${n}`, sampleLink(`c${n}`), known);
    expect(memory.size).toBe(50_000);
    for (let n = 70_000; n < 120_000; n += 3) memory.delete(`c${n}`);
    for (let n = 70_000; n < 120_000; n += 1)
      expect(held(memory, `c${n}`)?.link?.code).toBe((n - 70_000) % 3 === 0 ? undefined : `c${n}`);
    expect(memory.bytes).toBeLessThan(2 ** 26);
  });
});
