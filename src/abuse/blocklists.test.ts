import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../test/kit/until.ts';
import { ManualClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { createMemoryRecords } from '../records/drivers/memory.ts';
import { startBlocklists } from './blocklists.ts';
import { compileFile } from './compiled-list.ts';
import { acceptEntry, createOperatorEntries, type OperatorEntryStore } from './operator-entries.ts';

const folder = mkdtempSync(join(tmpdir(), 'terse-blocklists-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const key = new Uint8Array(8).fill(1);
const change = { at: 1, actor: { kind: 'system', accountId: null, keyId: null } } as const;

let clock: ManualClock;
let entries: OperatorEntryStore;
let changes: number;
let faults: string[];
beforeEach(() => {
  clock = new ManualClock();
  entries = createOperatorEntries({
    records: createMemoryRecords(clock),
    audit: { writesOf: () => [] },
    clock,
    random: systemRandom,
  });
  [changes, faults] = [0, []];
});

const fileWith = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const start = (...paths: string[]) =>
  startBlocklists({
    paths,
    compileFile,
    entries,
    key,
    clock,
    onChanged: () => {
      changes += 1;
    },
    onLoaded: () => undefined,
    onFault: (list, fault) => faults.push(`${list}: ${fault}`),
  });
const add = (text: string) =>
  entries.add({ ...acceptEntry(text), reason: null, addedAt: 1, addedBy: null }, change);

/** Reading real files takes real time, so the clock advances slowly: a slow read must not look stuck. */
async function pass(isSo: () => boolean): Promise<void> {
  await until('the lists', () => {
    clock.advance(50);
    return isSo();
  });
}

describe('the lists together', () => {
  test('are all active once they have started', async () => {
    await add('operators.example');
    const lists = await start(fileWith('a.txt', 'a.example\n'), fileWith('b.txt', 'b.example\n'));
    expect(lists.match('https://a.example/')).toEqual({ list: 'a.txt', entry: 'a.example' });
    expect(lists.match('https://b.example/')).toEqual({ list: 'b.txt', entry: 'b.example' });
    expect(lists.match('https://operators.example/')).toEqual({
      list: 'operator',
      entry: 'operators.example',
    });
    expect(lists.match('https://c.example/')).toBeUndefined();
    lists.stop();
  });

  test('reload a file that changes, and notify about it', async () => {
    const path = fileWith('changing.txt', 'a.example\n');
    const lists = await start(path);
    const before = changes;
    writeFileSync(path, 'b.example\nc.example\n');
    await pass(() => lists.match('https://b.example/') !== undefined);
    expect(lists.match('https://a.example/')).toBeUndefined();
    expect(changes).toBe(before + 1);
    const others = await start(path);
    lists.stop();
    writeFileSync(path, 'd.example\n');
    await pass(() => others.match('https://d.example/') !== undefined);
    expect(lists.match('https://d.example/')).toBeUndefined();
    others.stop();
  });

  test('keep the usable part of each, and report what is wrong', async () => {
    const path = fileWith('broken.txt', 'a.example\n');
    const lists = await start(path, join(folder, 'missing.txt'));
    writeFileSync(path, '<html>\n');
    await pass(() => lists.status()[1]?.fault !== null);
    expect(lists.match('https://a.example/')).toBeDefined();
    expect(lists.status()).toMatchObject([
      { name: 'operator', state: 'loaded', entries: 0 },
      { name: 'broken.txt', state: 'kept', entries: 1, fault: expect.stringContaining('1 of 1 lines') },
      { name: 'missing.txt', state: 'absent', entries: 0, fault: 'the file is missing' },
    ]);
    expect(faults).toHaveLength(2);
    lists.stop();
  });

  test('pick up entries that another process has added', async () => {
    const lists = await start();
    await add('added.example');
    expect(lists.match('https://added.example/')).toBeUndefined();
    await pass(() => lists.match('https://added.example/') !== undefined);
    expect(lists.match('https://added.example/')).toBeDefined();
    lists.stop();
  });

  test('know at once what this process has added', async () => {
    const lists = await start();
    await add('added.example');
    await lists.refreshEntries();
    expect(lists.match('https://added.example/')).toBeDefined();
    lists.stop();
  });

  test('keep their entries while the store is down', async () => {
    await add('kept.example');
    let isDown = false;
    const steady = entries;
    entries = {
      ...steady,
      revision: () => (isDown ? Promise.reject(new Error('the store is down')) : steady.revision()),
    };
    const lists = await start();
    isDown = true;
    await pass(() => faults.length > 0);
    expect(faults).toEqual(['operator: the store is down']);
    expect(lists.status()[0]).toMatchObject({ state: 'kept', fault: 'the store is down' });
    expect(lists.match('https://kept.example/')).toBeDefined();
    isDown = false;
    await pass(() => lists.status()[0]?.fault === null);
    expect(lists.status()[0]).toMatchObject({ state: 'loaded', fault: null, entries: 1 });
    lists.stop();
  });

  test('of the same name are distinguished', async () => {
    const path = fileWith('same.txt', 'a.example\n');
    const lists = await start(path, path);
    expect(lists.status().map(({ name }) => name)).toEqual(['operator', 'same.txt', 'same.txt (2)']);
    lists.stop();
  });
});
