/**
 * What the shared cache promises, as tests. Every driver runs this suite against its real engine, with two handles on
 * the same contents, as two processes would have.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Link } from '../links/link.ts';
import { sampleLink, samplesStart } from '../links/store-samples.ts';
import type { LinkCache } from './cache.ts';

export interface CacheHarness {
  readonly cache: LinkCache;
  readonly other: LinkCache;
  /** A little more than the life of a fence, and more than a second. */
  waitForFences(): Promise<void>;
  /** Returns when messages sent by either handle may be expected at both. */
  untilListening(): Promise<void>;
  untilHeard(isHeard: () => boolean): Promise<void>;
  dispose(): Promise<void>;
}

const hourMs = 3_600_000;

export function linkCacheConformance(name: string, open: () => Promise<CacheHarness>): void {
  describe(`link cache: ${name}`, () => {
    let harness: CacheHarness;
    let cache: LinkCache;
    let other: LinkCache;
    beforeEach(async () => {
      harness = await open();
      ({ cache, other } = harness);
    });
    afterEach(() => harness.dispose());

    const linkOf = async (code: string): Promise<Link | undefined | 'unknown'> => {
      const entry = await cache.get(code);
      return entry === undefined ? 'unknown' : entry.link;
    };

    describe('a record', () => {
      test.each<[string, Partial<Link>]>([
        ['plain', {}],
        ['nobody’s', { ownerId: null, origin: 'custom', redirectType: 301 }],
        [
          'full',
          {
            longUrl: 'https://example.com/ü?a=1&b=%F0%9F%98%80#“x”\\',
            origin: 'custom',
            status: 'quarantined',
            redirectType: 308,
            forwardQuery: true,
            publicStats: true,
            title: 'A “title” with\nnew lines and 😀',
            tags: ['b', 'a'],
            updatedAt: samplesStart + 5,
            expiresAt: samplesStart + hourMs,
            usedClicks: 3,
            risk: { score: 65, reasons: ['newDomain', 'phishingWords'] },
            version: 12_345,
          },
        ],
        ['deleted', { status: 'deleted', longUrl: '', version: 2 }],
        ['harmless', { status: 'blocked', redirectType: 307, risk: { score: 0, reasons: [] } }],
      ])('comes back as it was filled, to every process (%s)', async (_kind, overrides) => {
        const link = sampleLink('same', overrides);
        expect(await cache.fill('same', link, hourMs)).toBe(true);
        expect((await cache.get('same'))?.link).toEqual(link);
        expect((await other.get('same'))?.link).toEqual(link);
      });

      test('says when it was filled, by the clock of the cache, and for how long', async () => {
        const { nowMs } = await cache.readMark();
        await cache.fill('when', sampleLink('when'), hourMs);
        const entry = await cache.get('when');
        expect(entry?.ttlMs).toBe(hourMs);
        expect(Math.abs(entry!.filledAtMs - nowMs)).toBeLessThan(60_000);
      });

      test('may also be that there is none', async () => {
        expect(await linkOf('absent')).toBe('unknown');
        expect(await cache.fill('absent', undefined, hourMs)).toBe(true);
        expect(await linkOf('absent')).toBeUndefined();
      });

      test('ends with its time', async () => {
        await cache.fill('short', sampleLink('short'), 1_000);
        await cache.fill('gone', undefined, 1_000);
        await harness.waitForFences();
        expect([await linkOf('short'), await linkOf('gone')]).toEqual(['unknown', 'unknown']);
      });

      test('with a click limit is never cached', async () => {
        expect(await cache.fill('limited', sampleLink('limited', { maxClicks: 5 }), hourMs)).toBe(false);
        expect(await linkOf('limited')).toBe('unknown');
      });

      test('is told apart from one whose code differs only in case', async () => {
        await cache.fill('Case', sampleLink('Case'), hourMs);
        expect(await linkOf('case')).toBe('unknown');
      });
    });

    describe('a newer version', () => {
      test('replaces an older one and the same, and is replaced by neither an older one nor none', async () => {
        const version = (n: number): Link =>
          sampleLink('edit', { version: n, longUrl: `https://v${n}.example/` });
        expect(await cache.fill('edit', undefined, hourMs)).toBe(true);
        expect(await cache.fill('edit', version(9), hourMs)).toBe(true);
        expect(await other.fill('edit', version(10), hourMs)).toBe(true);
        expect(await cache.fill('edit', version(10), hourMs)).toBe(true);
        expect(await cache.fill('edit', version(9), hourMs)).toBe(false);
        expect(await cache.fill('edit', undefined, hourMs)).toBe(false);
        expect(await linkOf('edit')).toEqual(version(10));
      });
    });

    describe('a fence', () => {
      test('makes every process forget the record, or that there was none', async () => {
        await cache.fill('killed', sampleLink('killed'), hourMs);
        await cache.fill('created', undefined, hourMs);
        await cache.fill('bystander', sampleLink('bystander'), hourMs);
        expect(await other.fence(['killed', 'created', 'never seen'])).toEqual([]);
        expect([await linkOf('killed'), await linkOf('created')]).toEqual(['unknown', 'unknown']);
        expect(await linkOf('bystander')).toEqual(sampleLink('bystander'));
      });

      test('refuses whatever a slow read brings, old or new, and what a missing link leaves', async () => {
        await cache.fence(['slow']);
        expect(await other.fill('slow', sampleLink('slow'), hourMs)).toBe(false);
        expect(await other.fill('slow', sampleLink('slow', { version: 7 }), hourMs)).toBe(false);
        expect(await other.fill('slow', undefined, hourMs)).toBe(false);
        expect(await linkOf('slow')).toBe('unknown');
      });

      test('falls after its time, and the record is cached again', async () => {
        await cache.fence(['later']);
        await harness.waitForFences();
        expect(await cache.fill('later', sampleLink('later'), hourMs)).toBe(true);
        expect(await linkOf('later')).toEqual(sampleLink('later'));
      });

      test('stands for many codes at once', async () => {
        const codes = Array.from({ length: 500 }, (_, n) => `many${n}`);
        expect(await cache.fence(codes)).toEqual([]);
        const fills = await Promise.all(codes.map(code => other.fill(code, sampleLink(code), hourMs)));
        expect(fills).not.toContain(true);
      });
    });

    describe('the mark', () => {
      test('is not there at first', async () => {
        expect((await cache.readMark()).mark).toBeUndefined();
      });

      test('is what was written last, by whichever process, and ages', async () => {
        expect(await cache.writeMark(41, 0)).toBe(0);
        expect(await other.writeMark(40, 0)).toBe(0);
        expect((await cache.readMark()).mark).toMatchObject({ seq: 40, trustFromMs: 0 });
        const young = (await cache.readMark()).mark!.ageMs;
        await harness.waitForFences();
        expect((await cache.readMark()).mark!.ageMs).toBeGreaterThan(young);
      });

      test('keeps the latest distrust, whoever writes it later', async () => {
        expect(await cache.writeMark(1, samplesStart)).toBe(samplesStart);
        expect(await other.writeMark(2, 0)).toBe(samplesStart);
        expect((await cache.readMark()).mark).toMatchObject({ seq: 2, trustFromMs: samplesStart });
        expect(await other.writeMark(3, samplesStart + 1)).toBe(samplesStart + 1);
      });

      test('is no record, whatever a code is called', async () => {
        await cache.writeMark(1, 0);
        expect(await linkOf('mark')).toBe('unknown');
        await cache.fill('mark', sampleLink('mark'), hourMs);
        expect((await cache.readMark()).mark?.seq).toBe(1);
      });
    });

    test('a message reaches every process that listens', async () => {
      const heard: string[] = [];
      cache.onMessage(message => heard.push(`one: ${message}`));
      other.onMessage(message => heard.push(`other: ${message}`));
      await harness.untilListening();
      await cache.publish('abc 😀');
      await harness.untilHeard(() => heard.length === 2);
      expect(heard.sort()).toEqual(['one: abc 😀', 'other: abc 😀']);
    });
  });
}
