/**
 * What a review store promises to concurrent processes: a process that changes a review sees all earlier changes. Part
 * of the suite in store.conformance.ts.
 */
import { beforeEach, describe, expect, test } from 'bun:test';
import { auditRecord } from '../audit/audit-log.conformance.ts';
import { everythingAbout } from '../audit/audit-log.ts';
import { insertItem, sampleLink, samplesStart as start } from '../links/store-samples.ts';
import type { ReviewNote } from './review.ts';
import type { ModerationHandle, ModerationHarness } from './store.conformance.ts';
import { type Report, type ReviewStore, reportsKeptMax } from './store.ts';

const processes = 3;
/** Races are tried this many times. */
const rounds = 4;

export function sharedReviewsConformance(current: () => ModerationHarness): void {
  describe('several processes at once', () => {
    let handles: ModerationHandle[];
    let reviews: ReviewStore;
    beforeEach(async () => {
      const harness = current();
      handles = [harness];
      while (handles.length < processes) handles.push(await harness.reopen());
      reviews = harness.reviews;
    });
    /** `count` calls, spread over all processes and made concurrently. */
    const atOnce = <T>(
      count: number,
      call: (handle: ModerationHandle, n: number) => Promise<T>,
    ): Promise<T[]> => Promise.all(Array.from({ length: count }, (_, n) => call(handles[n % processes]!, n)));
    const report = (code: string, reporter: string): Report => ({
      code,
      reporter,
      category: 'spam',
      text: null,
      at: start,
    });

    test('count each reporter once, whichever of them receives a report', async () => {
      const outcomes = await atOnce(24, (each, n) =>
        each.reviews.report(report('code', `reporter ${n % 8}`), true),
      );
      expect(outcomes.filter(outcome => outcome === 'noted')).toHaveLength(8);
      expect(await reviews.find('code')).toMatchObject({ reporters: 8, score: 100 });
      const kept = await reviews.reports('code');
      expect(kept.map(({ times }) => times)).toEqual([3, 3, 3, 3, 3, 3, 3, 3]);
    });

    test('keep a limited number of reports of a link', async () => {
      for (let n = 0; n < reportsKeptMax - 4; n += 1)
        await reviews.report(report('code', `early ${n}`), true);
      await atOnce(12, (each, n) => each.reviews.report(report('code', `late ${n}`), true));
      expect(await reviews.reports('code')).toHaveLength(reportsKeptMax);
      expect(await reviews.find('code')).toMatchObject({ reporters: reportsKeptMax + 8 });
    });

    test('keep one of several concurrent appeals', async () => {
      const audit = auditRecord({ subject: { kind: 'link', id: 'code' }, action: 'link.appealed' });
      const outcomes = await atOnce(6, (each, n) =>
        each.reviews.appeal('code', { at: start, text: `appeal ${n}` }, audit),
      );
      expect(outcomes.filter(outcome => outcome === 'noted')).toHaveLength(1);
      expect(await reviews.find('code')).toMatchObject({ appeals: 1 });
      const about = everythingAbout({ kind: 'link', id: 'code' }, { limit: 10, cursor: undefined });
      expect((await current().audit.query(about)).entries).toHaveLength(1);
    });

    test('lose neither a report nor a concurrent decision', async () => {
      for (let round = 0; round < rounds; round += 1) {
        const code = `code${round}`;
        const review: ReviewNote = { kind: 'open', code, at: start, score: 70, heldFrom: 'active' };
        const held = sampleLink(code, { status: 'quarantined' });
        await current().links.insert([insertItem(held, { trace: { audit: auditRecord(), review } })]);
        const close: ReviewNote = { kind: 'close', code, at: start + 1, isHeld: false, heldFrom: undefined };
        await atOnce(processes, (each, n) =>
          n === 0
            ? each.links.replace(sampleLink(code, { version: 2 }), { audit: auditRecord(), review: close })
            : each.reviews.report(report(code, `reporter ${n}`), true),
        );
        const after = await reviews.find(code);
        expect(after).toMatchObject({ decidedAt: start + 1, heldFrom: null });
        // Reports before the decision were decided with it; a later one asks for another decision.
        const wait = after!.reporters === 0 ? null : start;
        expect(after!.openedAt).toBe(wait);
        expect(await reviews.reports(code)).toHaveLength(2);
      }
    });
  });
}
