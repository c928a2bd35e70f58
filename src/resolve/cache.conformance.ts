/**
 * The contract of the shared cache, as tests. Every driver runs this suite against its real engine, with two handles on
 * the same contents, as two processes would have.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Link } from '../links/link.ts';
import { allFlags, sampleLink, samplesStart } from '../links/store-samples.ts';
import { fenced, type LinkCache } from './cache.ts';

export interface CacheHarness {
  readonly cache: LinkCache;
  readonly other: LinkCache;
  /** A handle whose fences expire during `waitForFences`; those of the others need not, so no test has to be quick. */
  readonly brief: LinkCache;
  /** A little more than the lifetime of a fence of `brief`, and more than a second. */
  waitForFences(): Promise<void>;
  /** Returns when messages sent by either handle can be expected at both. */
  untilListening(): Promise<void>;
  untilReceived(isReceived: () => boolean): Promise<void>;
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
      return entry === undefined || entry === fenced ? 'unknown' : entry.link;
    };

    describe('a record', () => {
      test.each<[string, Partial<Link>]>([
        ['plain', {}],
        ['anonymous', { ownerId: null, origin: 'custom', redirectType: 301 }],
        [
          'full',
          {
            longUrl: 'https://example.com/ü?a=1&b=%F0%9F%98%80#“x”\\',
            origin: 'custom',
            status: 'quarantined',
            redirectType: 308,
            ...allFlags,
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
        const { nowMs } = await cache.readCheckpoint();
        await cache.fill('when', sampleLink('when'), hourMs);
        const entry = await cache.get('when');
        expect(entry?.ttlMs).toBe(hourMs);
        expect(Math.abs(entry!.filledAtMs - nowMs)).toBeLessThan(60_000);
      });

      test('can also say that there is no link', async () => {
        expect(await linkOf('absent')).toBe('unknown');
        expect(await cache.fill('absent', undefined, hourMs)).toBe(true);
        expect(await linkOf('absent')).toBeUndefined();
      });

      test('expires at the end of its time', async () => {
        await cache.fill('short', sampleLink('short'), 1_000);
        await cache.fill('gone', undefined, 1_000);
        await harness.waitForFences();
        expect([await linkOf('short'), await linkOf('gone')]).toEqual(['unknown', 'unknown']);
      });

      test('is not mixed up with any number of others that are filled and read together', async () => {
        const codes = Array.from({ length: 300 }, (_, n) => `together${n}`);
        await cache.fence([codes[1]!]);
        await cache.fill(codes[2]!, sampleLink(codes[2]!, { version: 9 }), 60_000);
        const filled = await Promise.all(codes.map(code => cache.fill(code, sampleLink(code), 60_000)));
        expect(filled.flatMap((isFilled, n) => (isFilled ? [] : [n]))).toEqual([1, 2]);
        const wanted = [...codes, 'together-none', codes[7]!];
        const entries = await Promise.all(wanted.map(code => other.get(code)));
        expect(entries[1]).toBe(fenced);
        expect(entries[2]?.link?.version).toBe(9);
        expect(entries[300]).toBeUndefined();
        const kept = wanted.filter(code => ![codes[1], codes[2], 'together-none'].includes(code));
        expect(entries.flatMap(entry => (entry?.link?.version === 1 ? entry.link : []))).toEqual(
          kept.map(code => sampleLink(code)),
        );
      });

      test('with a click limit is never cached', async () => {
        expect(await cache.fill('limited', sampleLink('limited', { maxClicks: 5 }), hourMs)).toBe(false);
        expect(await linkOf('limited')).toBe('unknown');
      });

      test('is distinct from one whose code differs only in case', async () => {
        await cache.fill('Case', sampleLink('Case'), hourMs);
        expect(await linkOf('case')).toBe('unknown');
      });
    });

    describe('a newer version', () => {
      test('replaces an older one and the same, and is replaced neither by an older one nor by none', async () => {
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
      test('removes the record, or that there was none, for every process', async () => {
        await cache.fill('killed', sampleLink('killed'), hourMs);
        await cache.fill('created', undefined, hourMs);
        await cache.fill('bystander', sampleLink('bystander'), hourMs);
        expect(await other.fence(['killed', 'created', 'never seen'])).toEqual([]);
        expect([await linkOf('killed'), await linkOf('created')]).toEqual(['unknown', 'unknown']);
        expect(await linkOf('bystander')).toEqual(sampleLink('bystander'));
      });

      test('rejects the result of a slow read, old or new, and the absence of a link', async () => {
        await cache.fence(['slow']);
        expect(await other.fill('slow', sampleLink('slow'), hourMs)).toBe(false);
        expect(await other.fill('slow', sampleLink('slow', { version: 7 }), hourMs)).toBe(false);
        expect(await other.fill('slow', undefined, hourMs)).toBe(false);
        expect(await linkOf('slow')).toBe('unknown');
      });

      test('expires after its time, and the record is cached again', async () => {
        await harness.brief.fence(['later']);
        await harness.waitForFences();
        expect(await cache.fill('later', sampleLink('later'), hourMs)).toBe(true);
        expect(await linkOf('later')).toEqual(sampleLink('later'));
      });

      test('is set for many codes at once', async () => {
        const codes = Array.from({ length: 500 }, (_, n) => `many${n}`);
        expect(await cache.fence(codes)).toEqual([]);
        const fills = await Promise.all(codes.map(code => other.fill(code, sampleLink(code), hourMs)));
        expect(fills).not.toContain(true);
      });
    });

    describe('the checkpoint', () => {
      test('does not exist at first', async () => {
        expect((await cache.readCheckpoint()).checkpoint).toBeUndefined();
      });

      test('is the last one written, by any process, and ages', async () => {
        expect(await cache.writeCheckpoint(41, 0)).toBe(0);
        expect(await other.writeCheckpoint(40, 0)).toBe(0);
        expect((await cache.readCheckpoint()).checkpoint).toMatchObject({ seq: 40, trustFromMs: 0 });
        const young = (await cache.readCheckpoint()).checkpoint!.ageMs;
        await harness.waitForFences();
        expect((await cache.readCheckpoint()).checkpoint!.ageMs).toBeGreaterThan(young);
      });

      test('keeps the latest distrust, whichever process writes it later', async () => {
        expect(await cache.writeCheckpoint(1, samplesStart)).toBe(samplesStart);
        expect(await other.writeCheckpoint(2, 0)).toBe(samplesStart);
        expect((await cache.readCheckpoint()).checkpoint).toMatchObject({
          seq: 2,
          trustFromMs: samplesStart,
        });
        expect(await other.writeCheckpoint(3, samplesStart + 1)).toBe(samplesStart + 1);
      });

      test('is never taken for a record, whatever the code', async () => {
        await cache.writeCheckpoint(1, 0);
        expect(await linkOf('mark')).toBe('unknown');
        await cache.fill('mark', sampleLink('mark'), hourMs);
        expect((await cache.readCheckpoint()).checkpoint?.seq).toBe(1);
      });
    });

    test('a message reaches every process that listens', async () => {
      const heard: string[] = [];
      cache.onMessage(message => heard.push(`one: ${message}`));
      other.onMessage(message => heard.push(`other: ${message}`));
      await harness.untilListening();
      await cache.publish('abc 😀');
      await harness.untilReceived(() => heard.length === 2);
      expect(heard.sort()).toEqual(['one: abc 😀', 'other: abc 😀']);
    });

    test('messages of a process arrive in order', async () => {
      const heard: string[] = [];
      other.onMessage(message => heard.push(message));
      await harness.untilListening();
      const sent = Array.from({ length: 300 }, (_, n) => `message ${n}`);
      for (const message of sent) await cache.publish(message);
      await harness.untilReceived(() => heard.length === sent.length);
      expect(heard).toEqual(sent);
    });
  });
}
