import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type DynamoLinks, dynamoLinksAt, freshDynamoLinks } from '../../../../test/kit/dynamo-links.ts';
import { startDynamoProxy } from '../../../../test/kit/dynamo-proxy.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { systemClock } from '../../../base/clock.ts';
import type { Key } from '../../../engines/dynamodb/dynamodb.ts';
import { createDynamoRecords } from '../../../records/drivers/dynamodb.ts';
import { noteKind } from '../../../records/fake-kinds.ts';
import { check, put } from '../../../records/record-store.ts';
import type { Link } from '../../link.ts';
import { linkStoreConformance } from '../../store.conformance.ts';
import { writeWithoutSubscribers } from '../../store-outbox.conformance.ts';
import { insertItem as item, listQuery, sampleLink, samplesStart as start } from '../../store-samples.ts';
import { labelPk, linkKey, urlGuardKey } from './keys.ts';
import { statusLabel } from './rows.ts';

describeWithEngine('dynamodb', 'links in DynamoDB', () => {
  linkStoreConformance('dynamodb', async () => {
    const { url, store } = await freshDynamoLinks();
    // A page examines 200 links, and DynamoDB Local is slow to write many.
    return { store, reopen: async () => dynamoLinksAt(url).store, dispose: () => store.close(), many: 450 };
  });

  let links: DynamoLinks;
  beforeAll(async () => {
    links = await freshDynamoLinks();
  });
  afterAll(() => links.store.close());
  const insert = async (link: Link, extra = {}) => (await links.store.insert([item(link, extra)]))[0];
  const listed = async (tag: string) =>
    (await links.store.list(listQuery({ tag }))).links.map(({ code }) => code);

  test('an empty title comes back as an empty title', async () => {
    await insert(sampleLink('untitled', { title: '' }));
    expect((await links.store.find('untitled'))?.title).toBe('');
    expect((await links.store.findNear?.('untitled'))?.title).toBe('');
  });

  test('a link that a crash also left under an earlier status is listed once', async () => {
    const link = sampleLink('relisted', { longUrl: 'https://example.com/relisted' });
    await insert(link);
    const { place } = (await links.dynamo.get<{ place: string }>(linkKey('relisted')))!;
    const pk = labelPk('acc_1', statusLabel('disabled'), 'relisted');
    await links.dynamo.write({ put: { pk, sk: place, version: 1 } });
    const query = listQuery({ longUrl: link.longUrl });
    expect((await links.store.list(query)).links).toEqual([link]);
    expect(await links.store.count(query)).toEqual({ count: 1, nextCursor: undefined });
  });

  test('an outbox without subscribers costs no item', async () => {
    const proxy = startDynamoProxy((await freshDynamoLinks()).url);
    const { store } = dynamoLinksAt(proxy.url);
    await writeWithoutSubscribers(store);
    expect(proxy.bodies.length).toBeGreaterThan(5);
    expect(proxy.bodies.filter(body => body.includes('outbox#'))).toEqual([]);
    await store.close();
    await proxy.stop();
  });

  describe('when the answer to a write is lost', () => {
    test('an insert does not find its code taken by its own write', async () => {
      const proxy = startDynamoProxy(links.url);
      const { store } = dynamoLinksAt(proxy.url);
      proxy.fault('PutItem', 'answer-lost', 1);
      proxy.fault('TransactWriteItems', 'answer-lost', 1);
      const made = await store.insert([
        item(sampleLink('mine', { tags: ['mine'] })),
        item(sampleLink('alias', { origin: 'custom' })),
      ]);
      expect(made).toEqual([{ kind: 'inserted' }, { kind: 'inserted' }]);
      expect(await store.insert([item(sampleLink('mine', { tags: ['mine'] }))])).toEqual([{ kind: 'taken' }]);
      expect(await listed('mine')).toEqual(['mine']);
      await store.close();
      await proxy.stop();
    });

    test('a limited link lets one visitor too few through rather than one too many', async () => {
      await insert(sampleLink('limited', { maxClicks: 4 }));
      const proxy = startDynamoProxy(links.url);
      const { store } = dynamoLinksAt(proxy.url);
      proxy.fault('UpdateItem', 'answer-lost', 1);
      const through = [];
      for (let visit = 0; visit < 6; visit += 1) through.push(await store.useClick('limited', start));
      expect(through.filter(Boolean)).toHaveLength(3);
      await store.close();
      await proxy.stop();
    });
  });

  test('only expired links whose code stays protected are left to the engine to drop', async () => {
    const expiresAt = start + 1;
    await insert(sampleLink('leased', { expiresAt }));
    await insert(sampleLink('claimed', { expiresAt }), { claim: { length: 7, id: 5 } });
    await insert(sampleLink('drawn', { expiresAt }), { leased: false });
    await insert(sampleLink('custom', { expiresAt, origin: 'custom' }), { claim: { length: 7, id: 6 } });
    await insert(sampleLink('lasting'));
    const hasTtl = async (code: string) =>
      (await links.dynamo.get<{ ttl?: number }>(linkKey(code)))?.ttl !== undefined;
    expect(await Promise.all(['leased', 'claimed', 'drawn', 'custom', 'lasting'].map(hasTtl))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    await links.store.replace(sampleLink('leased', { version: 2 }));
    await links.store.replace(sampleLink('lasting', { expiresAt, version: 2 }));
    expect(await Promise.all(['leased', 'lasting'].map(hasTtl))).toEqual([false, true]);
  });

  test('links that the engine may drop are swept only when it has not dropped them in time', async () => {
    const { store } = await freshDynamoLinks({ engineTimeoutMs: 1_000 });
    await store.insert([
      item(sampleLink('generated', { expiresAt: start })),
      item(sampleLink('custom', { expiresAt: start, origin: 'custom' })),
    ]);
    expect(await store.purgeExpired(start + 1_000, 10)).toBe(1);
    expect((await store.find('generated'))?.status).toBe('active');
    expect((await store.find('custom'))?.status).toBe('deleted');
    expect(await store.purgeExpired(start + 1_001, 10)).toBe(1);
    expect(await store.find('generated')).toBeUndefined();
    await store.close();
  });

  describe('an insert that may find by URL', () => {
    const wanted = (code: string, longUrl: string) =>
      insert(sampleLink(code, { longUrl }), { existing: 'same-url' });

    test('finds by the index once the guard has expired', async () => {
      const longUrl = 'https://example.com/guarded';
      expect(await wanted('first', longUrl)).toEqual({ kind: 'inserted' });
      await links.dynamo.write({ remove: urlGuardKey('acc_1', longUrl) });
      expect(await wanted('second', longUrl)).toMatchObject({ kind: 'found', link: { code: 'first' } });
    });

    test('finds by the guard while the index does not know yet', async () => {
      const longUrl = 'https://example.com/indexed-late';
      expect(await wanted('early', longUrl)).toEqual({ kind: 'inserted' });
      // The state of an index that does not have the link yet.
      await links.dynamo.write({ update: linkKey('early'), expression: 'REMOVE #urlKey' });
      expect(await wanted('late', longUrl)).toMatchObject({ kind: 'found', link: { code: 'early' } });
    });

    test('makes one new link where the guard names one that is dead or leads elsewhere', async () => {
      const longUrl = 'https://example.com/died';
      await wanted('dead', longUrl);
      await links.store.replace(sampleLink('dead', { status: 'deleted', longUrl: '', version: 2 }));
      const made = await Promise.all(['next1', 'next2', 'next3'].map(code => wanted(code, longUrl)));
      expect(made.filter(outcome => outcome?.kind === 'inserted')).toHaveLength(1);
      const moved = (await links.store.findByUrl('acc_1', longUrl, start))!;
      await links.store.replace({ ...moved, longUrl: 'https://example.com/moved', version: 2 });
      expect(await wanted('again', longUrl)).toEqual({ kind: 'inserted' });
    });
  });

  describe('labels', () => {
    const entriesOf = async (code: string) => {
      const filter = { expression: 'begins_with(#pk, :label)', values: { label: 'label#' } };
      const { items } = await links.dynamo.scan<Key & { ttl?: number }>({ limit: 1_000, filter });
      return items.filter(({ sk }) => sk.slice(15) === code);
    };

    test('of a rejected insert are removed, and the holder keeps its own', async () => {
      await insert(sampleLink('held', { tags: ['kept'] }));
      expect(await insert(sampleLink('held', { tags: ['kept', 'other'] }))).toEqual({ kind: 'taken' });
      expect(await listed('kept')).toEqual(['held']);
      expect(await listed('other')).toEqual([]);
    });

    test('are not trusted when the link says otherwise', async () => {
      await insert(sampleLink('changed', { tags: ['before'] }));
      // A process that dies between an edit and its cleanup leaves the entry.
      await links.dynamo.write({ update: linkKey('changed'), expression: 'REMOVE #tags' });
      expect(await listed('before')).toEqual([]);
    });

    test('count once, also where a failed insert has left another', async () => {
      await insert(sampleLink('twice', { tags: ['once'] }));
      const [entry] = await entriesOf('twice');
      await links.dynamo.write({ put: { ...entry!, sk: `${'0'.repeat(15)}twice` } });
      expect(await listed('once')).toEqual(['twice']);
    });

    test('follow every edit, also of a link that gets an expiry and loses it again', async () => {
      await insert(sampleLink('edited', { tags: ['a', 'b'] }));
      await links.store.replace(sampleLink('edited', { tags: ['b', 'c'], expiresAt: start + 9, version: 2 }));
      expect([await listed('a'), await listed('b'), await listed('c')]).toEqual([[], ['edited'], ['edited']]);
      expect((await entriesOf('edited')).map(({ ttl }) => typeof ttl)).toEqual(['number', 'number']);
      await links.store.replace(sampleLink('edited', { tags: ['a', 'b', 'c'], version: 3 }));
      const ours = await entriesOf('edited');
      expect(ours).toHaveLength(3);
      expect(ours.map(({ ttl }) => ttl)).toEqual([undefined, undefined, undefined]);
    });
  });

  test('an edit whose review changed in the meantime is still written, with the current review', async () => {
    const note = { id: 'this', book: null, text: '' };
    const writes = [
      [check(noteKind, 'missing', { key: 'missing', value: note, version: 1, expiresAt: null })],
      [put(noteKind, note)],
    ];
    const { store, dynamo } = dynamoLinksAt(links.url, { traceWrites: async () => writes.shift()! });
    await store.insert([item(sampleLink('reviewed'))]);
    const audit = {
      at: start,
      actor: { kind: 'system', accountId: null, keyId: null } as const,
      action: 'link.listed',
      subject: { kind: 'link', id: 'reviewed' } as const,
      before: null,
      after: null,
      reason: null,
      isRoutine: false,
    };
    const review = { kind: 'open', code: 'reviewed', at: start, score: 1, heldFrom: 'active' } as const;
    const edit = sampleLink('reviewed', { status: 'blocked', version: 2 });
    expect(await store.replace(edit, { audit, review })).toBe('replaced');
    expect(writes).toEqual([]);
    expect(await createDynamoRecords(dynamo, systemClock).get(noteKind, note.id)).toBeDefined();
    await store.close();
  });
});
