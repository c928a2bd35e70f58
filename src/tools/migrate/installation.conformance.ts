/**
 * What an engine promises as a side of a migration, as tests that run against the real one. Records are the same on all
 * engines, so what one engine returns another accepts: the suite checks both halves against the same contents.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { AuditEntry } from '../../audit/audit-entry.ts';
import { compositeKey, type Transfer, type TransferRecord } from '../../base/transfer.ts';
import { listQuery, sampleLink, samplesStart as start } from '../../links/store-samples.ts';
import { type LinkCopy, linkCopy, markKey } from '../../links/transfer.ts';
import type { Stores } from '../../stores/stores.ts';
import * as made from './fake-contents.ts';
import {
  expectedAccountRecords,
  expectedRecords,
  expectedReports,
  expectedReviews,
  expectedTrail,
} from './fake-records.ts';
import { type Installation, partsInOrder } from './installation.ts';
import { servingConformance } from './serving.conformance.ts';

/** A location of the engine. `dispose` closes everything that was opened. */
export interface Place {
  readonly openStores: () => Promise<Stores>;
  readonly openSource: () => Promise<Installation>;
  readonly openTarget: () => Promise<Installation>;
  readonly dispose: () => Promise<void>;
}

export function installationConformance(name: string, makePlace: () => Promise<Place>): void {
  describe(`a side of a migration: ${name}`, () => {
    let place: Place;
    let other: Place;
    beforeEach(async () => {
      [place, other] = await Promise.all([makePlace(), makePlace()]);
    });
    afterEach(() => Promise.all([place.dispose(), other.dispose()]));

    const filledSource = async (): Promise<Installation> => {
      await made.fill(await place.openStores());
      return place.openSource();
    };
    /** A target with all that is in a filled source. */
    const copied = async (): Promise<Installation> => {
      const source = await filledSource();
      const target = await other.openTarget();
      const targets = partsInOrder(target.transfers);
      for (const [index, part] of partsInOrder(source.transfers).entries()) {
        for await (const page of pagesOf(part, 3)) await targets[index]!.write(page);
      }
      return target;
    };
    const expectAll = async ({ transfers }: Installation): Promise<void> => {
      for (const [part, expected] of Object.entries(expectedRecords)) {
        const records = await all(transfers[part as keyof typeof expectedRecords] as Transfer);
        expect({ part, ...byKey(records) }).toEqual({ part, ...expected });
      }
      const records = await all(transfers.records);
      const byKind = Object.fromEntries(records.map(({ key, value }) => [key, value.value]));
      expect(byKind).toMatchObject(expectedAccountRecords);
      const valuesOf = (kind: string): unknown[] =>
        records.filter(({ value }) => value.kind === kind).map(({ value }) => value.value);
      const trail = valuesOf('audit').map(entry => (entry as AuditEntry).action);
      expect(trail.sort()).toEqual(expectedTrail.toSorted());
      expect(byCode(valuesOf('review'))).toMatchObject(byCode(expectedReviews));
      expect(byTime(valuesOf('report'))).toMatchObject(byTime(expectedReports));
      expect(byTime(valuesOf('block-entry'), 'addedAt')).toMatchObject(made.blockEntries);
    };

    describe('as a source', () => {
      test('returns everything that was stored, the same on every engine', async () => {
        await expectAll(await filledSource());
      });

      test('is walked once in pages of any size, and found by key', async () => {
        const source = await filledSource();
        for (const part of partsInOrder(source.transfers)) {
          const whole = await all(part);
          for (const limit of [1, 2, 100]) {
            const keys = (await all(part, limit)).map(({ key }) => key);
            expect(new Set(keys).size).toBe(keys.length);
            expect(keys.sort()).toEqual(whole.map(({ key }) => key).sort());
          }
          const keys = whole.map(({ key }) => key);
          expect(byKey(await part.read(keys))).toEqual(byKey(whole));
          expect(await part.read([])).toEqual([]);
        }
        expect(await source.transfers.links.read(['nobody', made.plain.code])).toHaveLength(1);
      });

      test('shows what changes while it is read', async () => {
        const source = await filledSource();
        const { links } = await place.openStores();
        await links.replace({ ...made.plain, title: 'later', version: 2 });
        expect((await source.transfers.links.read([made.plain.code]))[0]?.value).toMatchObject({
          title: 'later',
          version: 2,
        });
      });
    });

    describe('as a target', () => {
      test('stores each record once, however often it is written', async () => {
        const target = await copied();
        await expectAll(target);
        for (const part of partsInOrder(target.transfers)) await part.write(await all(part));
        await expectAll(target);
        // As after a kill: another process continues with the same records.
        const again = await other.openTarget();
        for (const part of partsInOrder(again.transfers)) await part.write(await all(part));
        await expectAll(again);
      });

      servingConformance(() => ({ copied, openStores: () => other.openStores() }));

      test('replaces an older record with a newer one, in every index', async () => {
        const { transfers } = await copied();
        const edited: LinkCopy = {
          ...linkCopy({ ...made.plain, tags: ['green'], longUrl: 'https://example.org/', version: 2 }, true),
        };
        await transfers.links.write([{ key: edited.code, value: edited }]);
        await transfers.links.write([
          {
            key: 'my-alias',
            value: { ...linkCopy(made.alias, false), longUrl: '', status: 'deleted', version: 2 },
          },
        ]);
        const { links } = await other.openStores();
        const codes = async (query = {}) =>
          (await links.list(listQuery({ limit: 100, ...query }))).links.map(({ code }) => code);
        expect(await codes({ tag: 'green' })).toEqual([edited.code]);
        expect(await codes({ tag: 'blue' })).toEqual([]);
        expect(await codes()).not.toContain('my-alias');
        expect(await links.findByUrl('acc_1', made.plain.longUrl, start)).toBeUndefined();
        expect((await links.findByUrl('acc_1', 'https://example.org/', start))?.code).toBe(edited.code);
      });

      test('lets a unique value move to another record', async () => {
        const { transfers } = await copied();
        const write = (kind: string, key: string, value: unknown) =>
          transfers.records.write([
            { key: compositeKey(kind, key), value: { kind, value, expiresAt: null } },
          ]);
        const email = made.member.email!;
        await write('email', email, { email, accountId: 'acc_1' });
        await write('account', 'acc_1', { account: { ...made.admin, email }, sessionEpoch: 0 });
        const { accounts } = await other.openStores();
        expect((await accounts.findAccountByEmail(email))?.id).toBe('acc_1');
        await write('account', 'acc_1', { account: made.admin, sessionEpoch: 0 });
        expect(await accounts.findAccountByEmail(email)).toBeUndefined();
      });

      test('removes what the source no longer has, from every index', async () => {
        const { transfers } = await copied();
        await transfers.links.remove?.([made.plain.code, 'nobody']);
        for (const [kind, key] of [
          ['key', 'key_2'],
          ['session', made.session.tokenHash],
          ['invitation', 'acc_2'],
          ['review', made.held.code],
          ['block-entry', made.blockEntries[0]!.id],
        ] as const) {
          await transfers.records.remove?.([compositeKey(kind, key)]);
        }
        for (const part of ['claims', 'answers'] as const) {
          await transfers[part].remove?.((await all(transfers[part] as Transfer)).map(({ key }) => key));
          expect(await all(transfers[part] as Transfer)).toEqual([]);
        }
        const { links, accounts, reviews, blockEntries } = await other.openStores();
        expect(await links.find(made.plain.code)).toBeUndefined();
        expect((await links.list(listQuery({ tag: 'blue' }))).links).toEqual([]);
        expect(await links.claims(made.codeLength)).toEqual([]);
        expect(await links.recall(made.answer)).toBeUndefined();
        expect(await accounts.findByKeyHash('next hash')).toBeUndefined();
        expect(await accounts.listKeys('acc_2')).toEqual([]);
        expect(await accounts.findSession(made.session.tokenHash)).toBeUndefined();
        expect(await accounts.findInvitation(made.invitation.tokenHash)).toBeUndefined();
        const queue = await reviews.queue({ limit: 10, cursor: undefined });
        expect(queue.reviews.map(({ code }) => code)).toEqual([made.plain.code]);
        expect(await blockEntries.list()).toHaveLength(2);
      });

      test('never lowers a mark', async () => {
        const { transfers } = await copied();
        const write = (mark: number) =>
          transfers.marks.write([{ key: markKey(made.span), value: { ...made.span, mark } }]);
        await write(10);
        const { links } = await other.openStores();
        expect(await links.spans(made.codeLength)).toEqual([{ first: 0, mark: made.leasedTo }]);
        await write(9_000_000);
        expect(await links.spans(made.codeLength)).toEqual([{ first: 0, mark: 9_000_000 }]);
      });

      test('lists links by their creation, in whatever order they were written', async () => {
        const { transfers } = await other.openTarget();
        // More of one millisecond than a page has, and out of order.
        const sameMoment = Array.from({ length: 1_200 }, (_, n) =>
          sampleLink(`bulk${n}`, { tags: ['bulk'] }),
        );
        const apart = Array.from({ length: 50 }, (_, n) =>
          sampleLink(`c${n}`, { createdAt: start + 10_000 + n * 7 }),
        );
        const shuffled = [...apart, ...sameMoment].sort((one, two) => hash(one.code) - hash(two.code));
        for (let at = 0; at < shuffled.length; at += 500) {
          const page = shuffled.slice(at, at + 500);
          await transfers.links.write(page.map(link => ({ key: link.code, value: linkCopy(link, true) })));
        }
        const { links } = await other.openStores();
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await links.list(listQuery({ limit: 1_000, cursor }));
          seen.push(...page.links.map(({ code }) => code));
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        expect(new Set(seen).size).toBe(shuffled.length);
        expect(seen).toHaveLength(shuffled.length);
        expect(seen.slice(0, 50)).toEqual(apart.toReversed().map(({ code }) => code));
      });

      test('saves progress only for the latest runner', async () => {
        const first = await other.openTarget();
        expect(await first.notes.load()).toBeUndefined();
        await first.notes.take('one', 'begun');
        expect(await first.notes.save('one', 'further')).toBe(true);
        const second = await other.openTarget();
        expect(await second.notes.load()).toBe('further');
        await second.notes.take('two', 'taken');
        expect(await first.notes.save('one', 'late')).toBe(false);
        expect(await second.notes.save('two', 'on')).toBe(true);
        expect(await second.notes.load()).toBe('on');
        expect(await (await other.openSource()).notes.load()).toBe('on');
      });
    });
  });
}

async function* pagesOf<Value>(
  part: Transfer<Value>,
  limit: number,
): AsyncGenerator<TransferRecord<Value>[]> {
  let cursor: string | undefined;
  do {
    const page = await part.page(cursor, limit);
    yield page.records;
    cursor = page.next;
  } while (cursor !== undefined);
}

async function all<Value>(part: Transfer<Value>, limit = 100): Promise<TransferRecord<Value>[]> {
  return (await Array.fromAsync(pagesOf(part, limit))).flat();
}

const byKey = (records: readonly TransferRecord[]): Record<string, unknown> =>
  Object.fromEntries(records.map(({ key, value }) => [key, value]));

const hash = (text: string): number => Number(Bun.hash(text) % 1_000_003n);

const byCode = (values: readonly unknown[]) =>
  (values as { code: string }[]).toSorted((one, other) => (one.code < other.code ? -1 : 1));

const byTime = (values: readonly unknown[], field = 'at') =>
  (values as Record<string, number>[]).toSorted((one, other) => one[field]! - other[field]!);
