/**
 * The contract of a review store, as tests. Every driver runs this suite against its real engine, together with the
 * link store beside it: a held link and the review that asks for a decision are written atomically.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { ruleTestOn } from '../../test/kit/record-engines.ts';
import { auditRecord } from '../audit/audit-log.conformance.ts';
import { type AuditLog, everythingAbout } from '../audit/audit-log.ts';
import type { LinkStore } from '../links/store.ts';
import { insertItem, sampleLink, samplesStart as start } from '../links/store-samples.ts';
import type { ReviewNote } from './review.ts';
import { type Report, type ReviewStore, reportsKeptMax } from './store.ts';
import { sharedReviewsConformance } from './store-shared.conformance.ts';

export interface ModerationHandle {
  readonly links: LinkStore;
  readonly reviews: ReviewStore;
}

export interface ModerationHarness extends ModerationHandle {
  readonly audit: AuditLog;
  /** Another handle to the same data, as another process would have; `dispose` closes it too. */
  readonly reopen: () => Promise<ModerationHandle>;
  readonly dispose: () => Promise<void>;
}

const minuteMs = 60_000;

export function moderationConformance(name: string, open: () => Promise<ModerationHarness>): void {
  describe(`moderation: ${name}`, () => {
    const ruleTest = ruleTestOn(name);
    let harness: ModerationHarness;
    let reviews: ReviewStore;
    beforeEach(async () => {
      harness = await open();
      reviews = harness.reviews;
    });
    afterEach(() => harness.dispose());

    /** Creates a held link, like a create whose destination is judged bad. */
    const hold = async (code: string, score: number, at = start): Promise<string | undefined> => {
      const link = sampleLink(code, { status: 'quarantined', createdAt: at, updatedAt: at });
      const review: ReviewNote = { kind: 'open', code, at, score, heldFrom: 'active' };
      const trace = { audit: auditRecord({ subject: { kind: 'link', id: code }, at }), review };
      const [outcome] = await harness.links.insert([insertItem(link, { trace })]);
      return outcome?.kind;
    };
    const report = (code: string, reporter: string, overrides: Partial<Report> = {}): Report => ({
      code,
      reporter,
      category: 'phishing',
      text: 'It asks for my password.',
      at: start,
      ...overrides,
    });
    const queued = async (limit = 100): Promise<string[]> =>
      (await reviews.queue({ limit, cursor: undefined })).reviews.map(({ code }) => code);

    describe('a review', () => {
      test('is opened by the write that holds its link', async () => {
        expect(await hold('held', 70)).toBe('inserted');
        expect(await reviews.find('held')).toEqual({
          code: 'held',
          openedAt: start,
          score: 70,
          heldFrom: 'active',
          reporters: 0,
          appeal: null,
          appeals: 0,
          decidedAt: null,
        });
        expect(await reviews.find('other')).toBeUndefined();
      });

      test('and its entry are not kept when the write is rejected', async () => {
        await harness.links.insert([insertItem(sampleLink('taken'))]);
        expect(await hold('taken', 70)).toBe('taken');
        expect(await reviews.find('taken')).toBeUndefined();
        const edit = sampleLink('taken', { status: 'blocked', version: 3 });
        const review: ReviewNote = { kind: 'open', code: 'taken', at: start, score: 1, heldFrom: 'active' };
        const trace = { audit: auditRecord({ subject: { kind: 'link', id: 'taken' } }), review };
        expect(await harness.links.replace(edit, trace)).toBe('conflict');
        expect(await reviews.find('taken')).toBeUndefined();
        const about = everythingAbout({ kind: 'link', id: 'taken' }, { limit: 10, cursor: undefined });
        expect((await harness.audit.query(about)).entries).toEqual([]);
      });

      test('is closed by the write that decides, and opened again by the next signal', async () => {
        await hold('held', 70);
        const allowed = sampleLink('held', { updatedAt: start + 1, version: 2 });
        const close: ReviewNote = {
          kind: 'close',
          code: 'held',
          at: start + 1,
          isHeld: false,
          heldFrom: undefined,
        };
        await harness.links.replace(allowed, { audit: auditRecord(), review: close });
        expect(await queued()).toEqual([]);
        expect(await reviews.find('held')).toMatchObject({
          openedAt: null,
          heldFrom: null,
          decidedAt: start + 1,
        });
        await reviews.report(report('held', 'a', { at: start + 2 }), true);
        expect(await reviews.find('held')).toMatchObject({ openedAt: start + 2, reporters: 1 });
      });

      ruleTest('is dismissed without a trace when its link is deleted', async () => {
        await hold('held', 70);
        await reviews.dismiss('held', start + 5);
        await reviews.dismiss('nobody', start + 5);
        expect(await queued()).toEqual([]);
        expect(await reviews.find('nobody')).toBeUndefined();
      });
    });

    describe('the queue', () => {
      ruleTest('puts risk first, then age, and lets nothing wait forever', async () => {
        await hold('mild', 62, start);
        await hold('worst', 95, start + 1_000);
        await hold('mild-later', 62, start + 1_000);
        expect(await queued()).toEqual(['worst', 'mild', 'mild-later']);
        await hold('worst-much-later', 95, start + 10 * minuteMs);
        expect(await queued()).toEqual(['worst', 'mild', 'mild-later', 'worst-much-later']);
      });

      test('cursors reach each link once and in order, in pages of any size', async () => {
        for (let n = 0; n < 20; n += 1) await hold(`c${n}`, n % 5, start + (n % 3) * 1_000);
        const whole = await queued();
        expect(new Set(whole).size).toBe(20);
        for (const limit of [1, 3, 20]) {
          const seen: string[] = [];
          let cursor: string | undefined;
          do {
            const page = await reviews.queue({ limit, cursor });
            expect(page.reviews.length).toBeLessThanOrEqual(limit);
            seen.push(...page.reviews.map(({ code }) => code));
            cursor = page.nextCursor;
          } while (cursor !== undefined);
          expect(seen).toEqual(whole);
        }
      });

      ruleTest('rejects a cursor that it did not issue', async () => {
        for (const cursor of ["' OR 1=1", 'zz', '.code', `1.${'x'.repeat(65)}`])
          await expect(reviews.queue({ limit: 1, cursor })).rejects.toThrow('cursor');
      });

      test('says how many wait, and since when', async () => {
        expect(await reviews.queueAge()).toEqual({ waiting: 0, oldestAt: null });
        await hold('later', 90, start + 1_000);
        await hold('first', 10, start);
        expect(await reviews.queueAge()).toEqual({ waiting: 2, oldestAt: start });
        await reviews.dismiss('first', start + 2_000);
        expect(await reviews.queueAge()).toEqual({ waiting: 1, oldestAt: start + 1_000 });
      });
    });

    describe('a report', () => {
      ruleTest(
        'puts a link into the queue; more reporters move it forward and restart no clock',
        async () => {
          await hold('risky', 55);
          expect(await reviews.report(report('reported', 'a'), true)).toBe('noted');
          expect(await queued()).toEqual(['risky', 'reported']);
          for (const reporter of ['b', 'c', 'd'])
            await reviews.report(report('reported', reporter, { at: start + 1_000 }), true);
          expect(await queued()).toEqual(['reported', 'risky']);
          expect(await reviews.find('reported')).toMatchObject({ reporters: 4, openedAt: start });
        },
      );

      ruleTest('of the same reporter is merged into the first', async () => {
        await reviews.report(report('code', 'a', { text: 'first' }), true);
        expect(await reviews.report(report('code', 'a', { text: 'second', at: start + 1 }), true)).toBe(
          'folded',
        );
        expect(await reviews.report(report('other', 'a', { text: null }), true)).toBe('noted');
        expect(await reviews.find('code')).toMatchObject({ reporters: 1 });
        const phishing = { category: 'phishing', at: start } as const;
        expect(await reviews.reports('code')).toEqual([
          { code: 'code', text: 'first', times: 2, ...phishing },
        ]);
        expect(await reviews.reports('other')).toEqual([
          { code: 'other', text: null, times: 1, ...phishing },
        ]);
      });

      ruleTest('of a link that cannot be followed is kept and asks for no decision', async () => {
        expect(await reviews.report(report('blocked', 'a'), false)).toBe('noted');
        expect(await queued()).toEqual([]);
        expect(await reviews.reports('blocked')).toHaveLength(1);
      });

      ruleTest('is still counted when its text is no longer kept', async () => {
        for (let n = 0; n < reportsKeptMax + 5; n += 1) await reviews.report(report('flood', `r${n}`), true);
        expect(await reviews.reports('flood')).toHaveLength(reportsKeptMax);
        expect(await reviews.find('flood')).toMatchObject({ reporters: reportsKeptMax + 5, score: 100 });
      });

      ruleTest('is returned verbatim, whatever it says', async () => {
        const text = '<script>alert(1)</script> \u202Eevil\u202C ’"; DROP TABLE reports; --\n😀';
        await reviews.report(report('code', 'a', { text }), true);
        expect((await reviews.reports('code'))[0]?.text).toBe(text);
      });
    });

    describe('an appeal', () => {
      const appeal = (text: string, at = start + 1) =>
        reviews.appeal('held', { at, text }, auditRecord({ action: 'link.appealed' }));
      const close = (isHeld: boolean): ReviewNote => ({
        kind: 'close',
        code: 'held',
        at: start + 2,
        isHeld,
        heldFrom: undefined,
      });

      ruleTest('waits for an answer, alone, and is recorded in the audit log', async () => {
        await hold('held', 70);
        expect(await appeal('It is my own shop.')).toBe('noted');
        expect(await appeal('Please!')).toBe('pending');
        expect(await reviews.find('held')).toMatchObject({
          appeal: { at: start + 1, text: 'It is my own shop.' },
          appeals: 1,
        });
        const { entries } = await harness.audit.query({
          ...everythingAbout({ kind: 'link', id: 'abc' }, { limit: 10, cursor: undefined }),
          action: 'link.appealed',
        });
        expect(entries).toHaveLength(1);
      });

      ruleTest('can be made a few times only, until the link is allowed', async () => {
        await hold('held', 70);
        let version = 2;
        const decide = async (isHeld: boolean): Promise<void> => {
          const link = sampleLink('held', { status: isHeld ? 'quarantined' : 'active', version });
          version += 1;
          expect(await harness.links.replace(link, { audit: auditRecord(), review: close(isHeld) })).toBe(
            'replaced',
          );
        };
        for (let n = 0; n < 3; n += 1) {
          expect(await appeal(`${n}`)).toBe('noted');
          await decide(true);
        }
        expect(await appeal('once more')).toBe('used up');
        expect(await queued()).toEqual([]);
        await decide(false);
        expect(await appeal('again')).toBe('noted');
      });
    });

    sharedReviewsConformance(() => harness);
  });
}
