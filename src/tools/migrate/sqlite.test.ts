import { expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { openForWriting } from '../../engines/sqlite/database.ts';
import { createSqliteStore } from '../../links/stores/sqlite/store.ts';
import { createSqliteRecords } from '../../records/drivers/sqlite.ts';
import { openEmbedded } from '../../stores/embedded.ts';
import { storesOnRecords } from '../../stores/stores.ts';
import { installationConformance } from './installation.conformance.ts';
import { openInstallation } from './open-installation.ts';

installationConformance('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-side-'));
  const opened: { close(): Promise<void> }[] = [];
  const keep = <Opened extends { close(): Promise<void> }>(each: Opened): Opened => {
    opened.push(each);
    return each;
  };
  return {
    async openStores() {
      const { reader, writer } = await openEmbedded(folder);
      const records = createSqliteRecords(reader, writer, systemClock);
      const onRecords = storesOnRecords(records, { clock: systemClock, random: systemRandom });
      const links = createSqliteStore(reader, writer, undefined, onRecords.reviews.traceWrites);
      return { ...onRecords, links: keep(links) };
    },
    openSource: async () => keep(await openInstallation(`sqlite:${folder}`, 'source')),
    openTarget: async () => keep(await openInstallation(`sqlite:${folder}`, 'target')),
    async dispose() {
      for (const each of opened) await each.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

test('a source of another version is rejected, and one that does not exist is not created', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-side-'));
  await expect(openInstallation(`sqlite:${folder}`, 'source')).rejects.toThrow('no Terse installation');
  await (await openInstallation(`sqlite:${folder}`, 'look')).close();
  expect(readdirSync(folder)).toEqual([]);
  await (await openInstallation(`sqlite:${folder}`, 'target')).close();
  await (await openInstallation(`sqlite:${folder}`, 'source')).close();
  const database = openForWriting(join(folder, 'terse.db'));
  database.run("UPDATE migrations SET version = version - 1 WHERE component = 'links'");
  database.close();
  for (const role of ['source', 'look'] as const) {
    await expect(openInstallation(`sqlite:${folder}`, role)).rejects.toThrow('another version of Terse');
  }
  rmSync(folder, { recursive: true, force: true });
});
