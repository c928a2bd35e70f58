import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { createSqliteStore } from '../../links/stores/sqlite/store.ts';
import { createSqliteRecords } from '../../records/drivers/sqlite.ts';
import { openEmbedded } from '../../stores/embedded.ts';
import { storesOnRecords } from '../../stores/on-records.ts';
import { installationConformance } from './installation.conformance.ts';
import { openSqliteSource, openSqliteTarget } from './sqlite.ts';

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
    openSource: async () => keep(openSqliteSource(folder)),
    openTarget: async () => keep(openSqliteTarget(folder)),
    async dispose() {
      for (const each of opened) await each.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});
