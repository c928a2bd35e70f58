import { afterEach, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { patientClock } from '../../../../test/kit/patient-clock.ts';
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import { noteKind } from '../../../records/fake-kinds.ts';
import { put } from '../../../records/record-store.ts';
import { linkStoreConformance } from '../../store.conformance.ts';
import type { LinkStore } from '../../store.ts';
import { writeWithoutSubscribers } from '../../store-outbox.conformance.ts';
import { insertItem, listQuery, sampleLink, samplesStart } from '../../store-samples.ts';
import { creationTrace } from '../../trace.ts';
import { freshDatabase, openStore, recording, storeOn } from './fake-database.ts';
import { createPostgresStore } from './store.ts';

describeWithEngine('postgres', 'links in Postgres', () => {
  linkStoreConformance('postgres', async () => {
    const url = await freshDatabase();
    const { store } = await openStore(url);
    return { store, reopen: async () => (await openStore(url)).store, dispose: () => store.close() };
  });
});

describeWithEngine('postgres', 'a trace that cannot be kept', () => {
  let postgres: Postgres;
  let store: LinkStore;
  beforeEach(async () => {
    ({ postgres } = await openStore(await freshDatabase()));
    const traceWrites = async () => [
      { ...put(noteKind, { id: 'n', book: null, text: '' }), key: null as never },
    ];
    store = createPostgresStore(postgres, { clock: patientClock, traceWrites });
    await store.insert([insertItem(sampleLink('before'))]);
  });
  afterEach(() => store.close());

  const blocked = (code: string, version: number) => sampleLink(code, { status: 'blocked', version });
  const countOf = async (table: string): Promise<unknown> =>
    (await postgres.read<{ count: number }>(`SELECT count(*) FROM ${table}`))[0]?.count;

  test('takes the write that it belongs to with it, and no other', async () => {
    const link = blocked('created', 1);
    const trace = creationTrace({ kind: 'anonymous' }, link);
    const edited = { audit: trace!.audit, review: { ...trace!.review!, code: 'before' } };
    const calls = [
      store.insert([insertItem(sampleLink('busy'))]),
      store.insert([insertItem(sampleLink('busy2'))]),
      store.insert([insertItem(link, { trace })]),
      store.insert([insertItem(sampleLink('other', { origin: 'custom' }))]),
      store.replace(blocked('before', 2), edited),
    ];
    const failures = (await Promise.allSettled(calls)).map(({ status }) => status);
    expect(failures).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'rejected']);
    expect(await store.find('created')).toBeUndefined();
    expect((await store.find('before'))?.status).toBe('active');
    expect((await store.changes(0, 10)).changes.map(({ code }) => code)).toEqual(['other']);
    expect(await countOf('records')).toBe(0);
  });
});

describeWithEngine('postgres', 'an outbox without subscribers', () => {
  test('costs no statement, and no statement is another than without it', async () => {
    const { postgres } = await openStore(await freshDatabase());
    const texts: string[] = [];
    const store = storeOn(recording(postgres, text => texts.push(text)));
    await writeWithoutSubscribers(store);
    expect(texts.filter(text => text.includes('outbox'))).toEqual([]);
    // One insert that commits by itself, one with its entry in the feed, and three edits of three statements each.
    expect(texts).toHaveLength(1 + 2 + 3 * 3);
    await store.close();
  });
});

describeWithEngine('postgres', 'a large table of links', () => {
  let postgres: Postgres;
  let store: LinkStore;
  let asked: { text: string; values: readonly unknown[] }[];

  beforeEach(async () => {
    const opened = await openStore(await freshDatabase());
    postgres = opened.postgres;
    asked = [];
    store = storeOn(recording(postgres, (text, values) => asked.push({ text, values })));
    await store.insert(Array.from({ length: 20_000 }, (_, number) => insertItem(linkNumber(number))));
    await postgres.query('ANALYZE');
    asked = [];
  });
  afterEach(() => store.close());

  const linkNumber = (number: number) =>
    sampleLink(`c${number}`, {
      ownerId: `acc_${number % 50}`,
      status: number % 10 === 0 ? 'disabled' : 'active',
      tags: number % 5 === 0 ? ['tagged'] : [],
      expiresAt: number % 20 === 0 ? samplesStart + number : null,
    });

  test('is never read from end to end for what a request or a sweep asks', async () => {
    const page = { ownerId: 'acc_20', limit: 5 };
    await store.find('c4000');
    await store.findByUrl('acc_7', 'https://example.com/c7', samplesStart);
    await store.list(listQuery(page));
    await store.list(listQuery({ ...page, order: 'oldest', cursor: '9z' }));
    await store.list(listQuery({ ...page, search: 'nothing like it' }));
    await store.list(listQuery({ ...page, tag: 'tagged' }));
    await store.list(listQuery({ ...page, state: 'disabled' }));
    await store.list(listQuery({ ...page, state: 'expired' }));
    await store.listByDomain({ domain: 'example.com', limit: 5, cursor: undefined });
    await store.insert([insertItem(sampleLink('same', { ownerId: 'acc_7' }), { existing: 'same-url' })]);
    await store.insert([insertItem(sampleLink('alias', { origin: 'custom' }), { existing: 'same-code' })]);
    await store.replace(sampleLink('c20', { version: 2, tags: ['new'] }));
    await store.useClick('c8', samplesStart);
    await store.purgeExpired(samplesStart + 100, 100);

    const scans: string[] = [];
    for (const { text, values } of asked.filter(({ text }) => /links|link_tags/.test(text))) {
      const lines = await postgres.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, values);
      const plan = lines.map(line => `${line['QUERY PLAN']}\n`).join('');
      // Every query of these tables has an index condition. Of tags that includes the tag: by the owner alone, one with
      // many of them would be walked through each time.
      const isScan = /Scan.* on (?:links|link_tags).*\n(?! *(?:Index|Recheck) Cond)/.test(plan);
      const isWalk = /Scan.* on link_tags\b.*\n *(?:Index|Recheck) Cond(?!.*tag = )/.test(plan);
      if (isScan || isWalk) scans.push(`${text}\n${plan}`);
    }
    expect(scans).toEqual([]);
    expect(asked.length).toBeGreaterThan(14);
  });
});
