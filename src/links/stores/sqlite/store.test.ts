import { Database, type Statement } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../../engines/sqlite/migrations.ts';
import { recordMigrations } from '../../../records/drivers/sqlite.ts';
import { noteKind } from '../../../records/fake-kinds.ts';
import { check } from '../../../records/record-store.ts';
import { openEmbedded } from '../../../stores/embedded.ts';
import { linkStoreConformance } from '../../store.conformance.ts';
import type { InsertItem, LinkStore } from '../../store.ts';
import { writeWithoutSubscribers } from '../../store-outbox.conformance.ts';
import { insertItem, listQuery, sampleLink } from '../../store-samples.ts';
import { linkOperations, packInserts, readInserts } from './operations.ts';
import { linkMigrations } from './schema.ts';
import { createSqliteStore } from './store.ts';

for (const [name, isSlow] of [
  ['sqlite', false],
  ['sqlite on a slow disk', true],
] as const) {
  linkStoreConformance(name, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'terse-store-'));
    const open = async () => {
      const { reader, writer, patient } = await openEmbedded(folder);
      return createSqliteStore(reader, writer, { ...patient, watch: { isSlow, note() {} } });
    };
    const store = await open();
    return {
      store,
      reopen: open,
      async dispose() {
        await store.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  });
}

test('links are read on a worker thread once a read has waited for the disk', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-store-'));
  const { reader, writer, patient } = await openEmbedded(folder);
  let isSlow = false;
  const asked: string[] = [];
  const store = createSqliteStore(reader, writer, {
    ...patient,
    watch: {
      get isSlow() {
        return isSlow;
      },
      note: () => (isSlow = true),
    },
    thread: {
      ask: code => {
        asked.push(code);
        return patient.thread.ask(code);
      },
      close: () => patient.thread.close(),
    },
  });
  await store.insert([insertItem(sampleLink('abc'))]);
  const [first, second] = [await store.find('abc'), await store.find('abc')];
  expect(second).toEqual(first!);
  expect(await store.find('none')).toBeUndefined();
  expect(asked).toEqual(['abc', 'none']);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

test('a search that almost matches everywhere costs no more than others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-store-'));
  const { reader, writer } = await openEmbedded(folder);
  const store = createSqliteStore(reader, writer);
  try {
    const path = 'a'.repeat(2_000);
    await store.insert(
      Array.from({ length: 6_000 }, (_, n) =>
        insertItem(sampleLink(`c${n}`, { longUrl: `https://example.com/${path}` })),
      ),
    );
    /** The processor time of the quickest page, which the work of others makes the least difference to. */
    const leastPageUs = async (search: string): Promise<number> => {
      let leastUs = Number.POSITIVE_INFINITY;
      let cursor: string | undefined;
      do {
        const before = process.cpuUsage();
        const page = await store.list(listQuery({ search, cursor }));
        const { user, system } = process.cpuUsage(before);
        expect(page.links).toEqual([]);
        cursor = page.nextCursor;
        // The last page may be empty.
        if (cursor !== undefined) leastUs = Math.min(leastUs, user + system);
      } while (cursor !== undefined);
      return leastUs;
    };
    const othersUs = await leastPageUs('b'.repeat(200));
    const almostUs = await leastPageUs(`${'a'.repeat(199)}b`);
    expect(almostUs / othersUs).toBeLessThan(20);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a link whose trace is rejected leaves no claim behind', () => {
  const database = new Database(':memory:');
  for (const set of [recordMigrations, linkMigrations]) migrate(database, set);
  const { insertLinks } = linkOperations(database);
  const note = { id: 'changed', book: null, text: '' };
  const records = [check(noteKind, note.id, { key: note.id, value: note, version: 1, expiresAt: null })];
  const item = insertItem(sampleLink('claimed'), { leased: false, claim: { length: 7, id: 42 } });
  const packed = packInserts([{ ...item, records }, item]);
  expect(insertLinks([packed])).toEqual([{ kind: 'taken' }, { kind: 'inserted' }]);
  database.close();
});

test('all links of one insert share a commit, however many, and their outcomes are in order', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-store-'));
  const { reader, writer } = await openEmbedded(folder);
  const store = createSqliteStore(reader, writer);
  try {
    const codes = Array.from({ length: 4_500 }, (_, n) => `code-${n}`);
    await store.insert([insertItem(sampleLink(codes[4_321]!))]);
    const before = writer.commits;
    const outcomes = await store.insert(codes.map(code => insertItem(sampleLink(code))));
    expect(writer.commits - before).toBe(1);
    expect(outcomes).toHaveLength(4_500);
    expect(outcomes.findIndex(({ kind }) => kind === 'taken')).toBe(4_321);
    expect(outcomes.filter(({ kind }) => kind === 'inserted')).toHaveLength(4_499);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('creates of one turn share a commit, and one that conflicts does not harm its neighbours', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-store-'));
  const { reader, writer } = await openEmbedded(folder);
  const store = createSqliteStore(reader, writer);
  try {
    await store.insert([insertItem(sampleLink('taken'))]);
    const before = writer.commits;
    const claim = { length: 7, id: 42 };
    const outcomes = await Promise.all([
      store.insert([insertItem(sampleLink('first'))]),
      store.insert([insertItem(sampleLink('taken', { longUrl: 'https://example.com/other' }))]),
      store.insert([insertItem(sampleLink('tagged', { tags: ['a', 'b'] }))]),
      store.insert([insertItem(sampleLink('claimed'), { leased: false, claim })]),
      store.insert([insertItem(sampleLink('rival'), { leased: false, claim })]),
      store.insert([insertItem(sampleLink('taken')), insertItem(sampleLink('last'))]),
    ]);
    expect(outcomes.map(each => each.map(({ kind }) => kind))).toEqual([
      ['inserted'],
      ['taken'],
      ['inserted'],
      ['inserted'],
      ['taken'],
      ['taken', 'inserted'],
    ]);
    expect(writer.commits - before).toBe(1);
    for (const code of ['first', 'tagged', 'claimed', 'last'])
      expect(await store.find(code)).toMatchObject({ code });
    expect(await store.find('rival')).toBeUndefined();
    expect((await store.find('taken'))?.longUrl).toBe(sampleLink('taken').longUrl);
    expect((await store.list(listQuery({ tag: 'b' }))).links.map(({ code }) => code)).toEqual(['tagged']);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('an insert is packed as its row alone only if nothing else depends on it', () => {
  const whole = (extra: Partial<InsertItem>, link = sampleLink('code')): boolean =>
    readInserts(packInserts([insertItem(link, extra)]))[0]!.item !== undefined;
  const idempotency = { ownerId: 'acc', key: 'k', fingerprint: 'f', createdAt: 1, validAfter: 0 };
  expect(whole({})).toBe(false);
  expect(whole({ leased: false })).toBe(true);
  expect(whole({ existing: 'same-url' })).toBe(true);
  expect(whole({ idempotency })).toBe(true);
  expect(whole({ event: 'link.created' })).toBe(true);
  expect(whole({}, sampleLink('code', { tags: ['a'] }))).toBe(true);
  const odd = insertItem(sampleLink('code', { title: 'ü "\\ \u2028 😀', tags: ['a'] }), { idempotency });
  expect(readInserts(packInserts([odd]))[0]!.item).toEqual(odd);
});

test('an outbox without subscribers costs no statement', async () => {
  const database = new Database(':memory:');
  for (const set of [recordMigrations, linkMigrations]) migrate(database, set);
  const run: string[] = [];
  const recorded = new Proxy(database, {
    get: (_, name) =>
      name === 'query'
        ? (text: string) => recordedStatement(database.query(text), () => run.push(text))
        : database[name as keyof Database],
  });
  const operations = linkOperations(recorded);
  await writeWithoutSubscribers({
    insert: async items => operations.insertLinks([packInserts(items)]),
    replace: async (link, _trace, event) => operations.replaceLink({ link, records: undefined, event }),
  } as LinkStore);
  expect(run.length).toBeGreaterThan(10);
  expect(run.filter(text => text.includes('outbox'))).toEqual([]);
  database.close();
});

function recordedStatement(statement: Statement, onRun: () => void): Statement {
  return new Proxy(statement, {
    get(_, name) {
      const member = statement[name as keyof Statement];
      if (typeof member !== 'function') return member;
      return (...values: never[]) => {
        onRun();
        return (member as (...given: never[]) => unknown).apply(statement, values);
      };
    },
  });
}
