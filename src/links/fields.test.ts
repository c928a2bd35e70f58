import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWithEngine } from '../../test/kit/engines/describe-with-engine.ts';
import { encodeRecord } from '../resolve/caches/redis.ts';
import { openEmbedded } from '../stores/embedded.ts';
import { type OlderRecords, request } from './fake-later-field.ts';
import { fieldRows, unstated } from './fields.ts';
import { encodeQueuedLink } from './queued-link.ts';
import { insertItem, sampleLink } from './store-samples.ts';
import { answerItem } from './stores/dynamodb/lookups.ts';
import { itemOf } from './stores/dynamodb/rows.ts';
import { freshDatabase, openStore } from './stores/postgres/fake-database.ts';
import { createSqliteStore } from './stores/sqlite/store.ts';
import { linkCopy } from './transfer.ts';

test('a field that records may lack has a default', () => {
  const broken = fieldRows.filter(([, field]) => field.since > 1 && field.default === undefined);
  expect(broken).toEqual([]);
  expect(Object.values(unstated)).not.toContain(undefined);
});

/** Sources like ours with one more row in the table of fields. */
let copyOfSources: string;
let dataFolder: string;
beforeAll(() => {
  const root = join(import.meta.dir, '../..');
  copyOfSources = mkdtempSync(join(tmpdir(), 'terse-later-field-'));
  dataFolder = mkdtempSync(join(tmpdir(), 'terse-older-'));
  cpSync(join(root, 'src'), join(copyOfSources, 'src'), { recursive: true });
  for (const name of ['package.json', 'tsconfig.json', 'node_modules'])
    symlinkSync(join(root, name), join(copyOfSources, name));
  const table = join(copyOfSources, 'src/links/fields.ts');
  const text = readFileSync(table, 'utf8');
  const added = text.replace(
    /\n +publicStats: flag\(.*\),\n/,
    match => `${match}later: flag('Later.', 2),\n`,
  );
  if (added === text) throw new Error('no row was added to the table of fields');
  writeFileSync(table, added);
});
afterAll(() => {
  for (const folder of [copyOfSources, dataFolder]) rmSync(folder, { recursive: true, force: true });
});

const older = sampleLink('older');
const records: OlderRecords = {
  queued: encodeQueuedLink(older),
  cached: `1 1 1 ${encodeRecord(older)}`,
  item: itemOf(older, { place: 'p', guards: false, expiryGraceMs: 0 }),
  answer: answerItem(request, 'created', older, 0).put,
  copy: linkCopy(older, true),
};

async function readByLater(given: OlderRecords) {
  const script = join(copyOfSources, 'src/links/fake-later-field.ts');
  const process = Bun.spawn([Bun.argv[0]!, script, JSON.stringify(given)], { stderr: 'pipe' });
  const [text, errors] = await Promise.all([process.stdout.text(), process.stderr.text()]);
  if ((await process.exited) !== 0) throw new Error(errors);
  return JSON.parse(text);
}

const inserted = ['inserted', 'inserted'];

describe('a switch that is added to the table, and nowhere else', () => {
  test('is off in everything that older versions wrote, and comes back from everything that is written', async () => {
    const { reader, writer } = await openEmbedded(dataFolder);
    const store = createSqliteStore(reader, writer);
    await store.insert([insertItem(older)]);
    await store.close();
    expect(await readByLater({ ...records, dataFolder })).toEqual({
      store: { before: false, inserted, after: [true, false, true] },
      older: [false, false, false, false, false],
      newer: [true, true, true, true, true],
      same: { cached: true, copy: true },
      api: [true, true],
    });
    // The older version still works with the newer table, as during a rolling update.
    const again = await openEmbedded(dataFolder);
    const olderStore = createSqliteStore(again.reader, again.writer);
    expect(await olderStore.insert([insertItem(sampleLink('by-older'))])).toEqual([{ kind: 'inserted' }]);
    expect(await olderStore.find('older')).toEqual(sampleLink('older', { version: 2 }));
    await olderStore.close();
  });
});

describeWithEngine('postgres', 'a switch that is added to the table, in Postgres', () => {
  test('is a column that is added when the database is opened', async () => {
    const postgresUrl = await freshDatabase();
    const { store } = await openStore(postgresUrl);
    await store.insert([insertItem(older)]);
    expect((await readByLater({ ...records, postgresUrl })).store).toEqual({
      done: ['added the column later to the tables of links'],
      before: false,
      inserted,
      after: [true, false, true],
    });
    expect(await store.find('older')).toEqual(sampleLink('older', { version: 2 }));
    expect(await store.insert([insertItem(sampleLink('by-older'))])).toEqual([{ kind: 'inserted' }]);
    await store.close();
  });
});
