/**
 * The contract of the outbox, with a subscriber of the tests: an event exists if and only if its change was made, in the
 * order of each link's changes, until it was consumed. Part of the suite in store.conformance.ts.
 */
import { beforeEach, describe, expect, test } from 'bun:test';
import { anonymous } from '../accounts/account.ts';
import { tombstoneOf } from './link.ts';
import { outboxStore } from './outbox.ts';
import type { LinkStore } from './store.ts';
import { insertItem as item, type StoreHarness, sampleLink, samplesStart as start } from './store-samples.ts';
import { linkRecord } from './trace.ts';

/** Writes of every kind by owners without a subscriber, for tests of what they cost. */
export async function writeWithoutSubscribers(store: LinkStore): Promise<void> {
  const subscribed = outboxStore(store, () => false);
  await subscribed.insert([item(sampleLink('leased')), item(sampleLink('second'))]);
  await subscribed.insert([item(sampleLink('alias', { origin: 'custom' }))]);
  await subscribed.replace(sampleLink('leased', { title: 'x', version: 2 }));
  await subscribed.replace(sampleLink('alias', { origin: 'custom', status: 'blocked', version: 2 }));
  await subscribed.replace({ ...tombstoneOf(sampleLink('leased')), version: 3 });
}

export function outboxConformance(current: () => StoreHarness): void {
  describe('the outbox', () => {
    let plain: LinkStore;
    let store: LinkStore;
    const subscribed = (each: LinkStore): LinkStore => outboxStore(each, ownerId => ownerId === 'acc_1');
    beforeEach(() => {
      plain = current().store;
      store = subscribed(plain);
    });
    const edit = (code: string, version: number, title = 'x') => sampleLink(code, { title, version });
    const events = async (afterSeq = 0, limit = 100) =>
      (await store.events(afterSeq, limit)).map(({ type, link }) => `${type} ${link.code} ${link.version}`);

    test('has an event for each creation, edit, decision and deletion, with the link as they left it', async () => {
      await store.insert([
        item(sampleLink('leased', { tags: ['a'] })),
        item(sampleLink('alias', { origin: 'custom' })),
        item(sampleLink('claimed'), { claim: { length: 7, id: 42 } }),
      ]);
      await store.replace(edit('leased', 2));
      const blocked = sampleLink('alias', { origin: 'custom', status: 'blocked', version: 2 });
      await store.replace(blocked, {
        audit: linkRecord(anonymous, 'link.decided', blocked, start, { before: null, after: null }),
      });
      await store.replace({ ...tombstoneOf(edit('leased', 3)), version: 3 });
      const seen = await events();
      // DynamoDB writes the items of a call in parallel.
      expect(seen.slice(0, 3).sort()).toEqual([
        'link.created alias 1',
        'link.created claimed 1',
        'link.created leased 1',
      ]);
      expect(seen.slice(3)).toEqual([
        'link.updated leased 2',
        'link.decided alias 2',
        'link.deleted leased 3',
      ]);
      const all = await store.events(0, 100);
      expect(all.find(({ link }) => link.code === 'leased')?.link).toEqual(
        sampleLink('leased', { tags: ['a'] }),
      );
      expect(all.at(-1)?.link).toMatchObject({ longUrl: '', status: 'deleted' });
    });

    test('has none for a change that was not made', async () => {
      const record = {
        ownerId: 'acc_1',
        key: 'k',
        fingerprint: 'f',
        createdAt: start,
        validAfter: start - 1,
      };
      await plain.insert([item(sampleLink('there'), { idempotency: record })]);
      await store.insert([
        item(sampleLink('there', { longUrl: 'https://example.org/' })),
        item(sampleLink('other'), { idempotency: record }),
        item(sampleLink('same', { longUrl: 'https://example.com/there' }), { existing: 'same-url' }),
      ]);
      expect(await store.replace(edit('there', 5))).toBe('conflict');
      expect(await store.replace(edit('nobody', 2))).toBe('missing');
      expect(await events()).toEqual([]);
    });

    test('has none for links whose owner has no subscriber', async () => {
      await store.insert([
        item(sampleLink('foreign', { ownerId: 'acc_2' })),
        item(sampleLink('nobodys', { ownerId: null })),
        item(sampleLink('mine')),
      ]);
      await store.replace(sampleLink('foreign', { ownerId: 'acc_2', version: 2 }));
      expect(await events()).toEqual(['link.created mine 1']);
    });

    test('is read by cursor, and loses what was consumed and nothing else', async () => {
      for (const code of ['a', 'b', 'c']) await store.insert([item(sampleLink(code))]);
      const [first, second] = await store.events(0, 2);
      expect([first?.link.code, second?.link.code]).toEqual(['a', 'b']);
      expect(await events(second!.seq, 2)).toEqual(['link.created c 1']);
      await store.prune({ answersBefore: start + 1e9, changesBefore: start + 1e9 }, 100);
      await store.removeEvents([second!.seq]);
      expect(await events()).toEqual(['link.created a 1', 'link.created c 1']);
      await store.removeEvents((await store.events(0, 100)).map(({ seq }) => seq));
      expect(await events()).toEqual([]);
      await store.insert([item(sampleLink('d'))]);
      expect((await store.events(second!.seq, 10)).map(({ link }) => link.code)).toEqual(['d']);
    });

    test('has the events of a link in the order of its changes, whichever process makes them', async () => {
      const { reopen } = current();
      const others = reopen === undefined ? [plain] : [await reopen(), await reopen()];
      const writers = [plain, ...others].map(subscribed);
      await store.insert([item(sampleLink('one')), item(sampleLink('two'))]);
      const write = async (writer: LinkStore, code: string): Promise<void> => {
        for (let made = 0; made < 8; ) {
          const version = (await writer.find(code))!.version + 1;
          if ((await writer.replace(edit(code, version, `${version}`))) === 'replaced') made += 1;
        }
      };
      await Promise.all(writers.flatMap(writer => [write(writer, 'one'), write(writer, 'two')]));
      const all = await store.events(0, 1_000);
      for (const code of ['one', 'two']) {
        const versions = all.filter(({ link }) => link.code === code).map(({ link }) => link.version);
        expect(versions).toEqual(Array.from({ length: 1 + 8 * writers.length }, (_, n) => n + 1));
      }
      if (reopen !== undefined) for (const other of others) await other.close();
    });
  });
}
