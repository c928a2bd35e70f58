import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { healthStoreConformance } from '../../store.conformance.ts';
import type { HealthStore } from '../../store.ts';
import { openSqliteHealthStore } from './store.ts';

function opened() {
  const folder = mkdtempSync(join(tmpdir(), 'terse-health-'));
  const handles: HealthStore[] = [];
  const reopen = async (): Promise<HealthStore> => {
    handles.push(openSqliteHealthStore(join(folder, 'health.db')));
    return handles.at(-1)!;
  };
  const dispose = async (): Promise<void> => {
    for (const handle of handles) await handle.close();
    rmSync(folder, { recursive: true });
  };
  return { reopen, dispose };
}

healthStoreConformance('SQLite', async () => {
  const { reopen, dispose } = opened();
  return { store: await reopen(), reopen, dispose };
});

test('a damaged file is thrown away, and the next round fills another', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-health-'));
  const path = join(folder, 'health.db');
  writeFileSync(path, 'x'.repeat(8_192));
  const store = openSqliteHealthStore(path);
  expect(await store.find(['any'])).toEqual([undefined]);
  await store.close();
  rmSync(folder, { recursive: true });
});

test('what is not checked any more is forgotten', async () => {
  const { reopen, dispose } = opened();
  const store = await reopen();
  const record = { destination: 'd', checkedAt: 0, failingSince: null, httpStatus: 200, reason: null };
  await store.save([{ ...record, code: 'old' }], 0, 1_000);
  await store.save([{ ...record, code: 'new' }], 1_001, 1_000);
  expect((await store.find(['old', 'new'])).map(each => each?.code)).toEqual([undefined, 'new']);
  await dispose();
});
