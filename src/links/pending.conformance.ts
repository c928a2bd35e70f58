/** The contract of pending records (`queue.ts`): every driver runs this against the real engine. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { pendingLifeMs } from '../config/cache-settings.ts';
import type { PendingLinks } from './queue.ts';
import { sampleLink } from './store-samples.ts';

export interface PendingHarness {
  readonly pendings: PendingLinks;
  /** By the clock that the records' lifetimes are computed with. */
  readonly now: number;
  /** Another handle on the same records; absent where they live in the handle itself. */
  readonly other?: PendingLinks;
  dispose(): Promise<void>;
}

export function pendingLinksConformance(name: string, open: () => Promise<PendingHarness>): void {
  describe(`pending links in ${name}`, () => {
    let harness: PendingHarness;
    let pendings: PendingLinks;
    beforeEach(async () => {
      harness = await open();
      pendings = harness.pendings;
    });
    afterEach(() => harness.dispose());

    const linkOf = (code: string, ageMs = 0) =>
      sampleLink(code, {
        createdAt: harness.now - ageMs,
        title: 'Ünïcode ✓',
        tags: ['a'],
        maxClicks: 5,
        risk: { score: 10, reasons: ['x'] },
      });

    test('are found unchanged, here and in every other process, until they are removed', async () => {
      const links = Array.from({ length: 1_200 }, (_, n) => linkOf(`code${n}`));
      await pendings.put(links);
      for (const reader of [pendings, harness.other ?? pendings]) {
        expect(await reader.find('code0')).toEqual(links[0]!);
        expect(await reader.find('code1199')).toEqual(links[1_199]!);
        expect(await reader.find('code1200')).toBeUndefined();
      }
      await (harness.other ?? pendings).remove(links.slice(1).map(({ code }) => code));
      expect(await pendings.find('code1199')).toBeUndefined();
      expect(await pendings.find('code0')).toEqual(links[0]!);
    });

    test('may be removed twice, and put again', async () => {
      await pendings.remove(['never-put']);
      await pendings.put([linkOf('one')]);
      await pendings.put([linkOf('one')]);
      await pendings.remove(['one', 'one']);
      expect(await pendings.find('one')).toBeUndefined();
      await pendings.put([linkOf('one')]);
      expect(await pendings.find('one')).toBeDefined();
    });

    test('are not kept beyond their lifetime, which starts with the link', async () => {
      await pendings.put([linkOf('over', pendingLifeMs), linkOf('long-over', 2 * pendingLifeMs)]);
      expect(await pendings.find('over')).toBeUndefined();
      expect(await pendings.find('long-over')).toBeUndefined();
    });
  });
}
