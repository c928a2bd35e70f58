import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded } from '../../../app/embedded.ts';
import { letOthersRun } from '../../../base/clock.ts';
import { linkStoreConformance } from '../../store.conformance.ts';
import { insertItem, listQuery, sampleLink } from '../../store-samples.ts';
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
        rmSync(folder, { recursive: true });
      },
    };
  });
}

test('a link is read by a thread from when a read has waited for the disk', async () => {
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
  rmSync(folder, { recursive: true });
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
    let cursor: string | undefined;
    do {
      const page = await store.list(listQuery({ search: `${'a'.repeat(199)}b`, cursor }));
      expect(page.links).toEqual([]);
      cursor = page.nextCursor;
      // Without a turn for others the time limit of the test would not be seen to pass.
      await letOthersRun();
    } while (cursor !== undefined);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
  // Tens of times what it takes; comparing from each position anew would take longer still.
}, 4_000);
