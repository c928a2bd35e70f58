/**
 * The embedded database: one file in the data folder, a reading connection here, a writing thread beside, and a thread
 * that reads links when the disk is slow.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { openForReading } from '../engines/sqlite/database.ts';
import type { MigrationSet } from '../engines/sqlite/migrations.ts';
import { DiskWatch, ReadingThread } from '../engines/sqlite/reading-thread.ts';
import { SqliteWriter } from '../engines/sqlite/writer.ts';
import type { Link } from '../links/link.ts';
import type { LinkOperations } from '../links/stores/sqlite/operations.ts';
import type { PatientReads } from '../links/stores/sqlite/reads.ts';
import { linkMigrations } from '../links/stores/sqlite/schema.ts';
import { type RecordOperations, recordMigrations } from '../records/drivers/sqlite.ts';
import { sqliteFence } from './former-fence.ts';

type EmbeddedOperations = LinkOperations & RecordOperations;

export interface EmbeddedDatabase {
  readonly reader: ReturnType<typeof openForReading>;
  readonly writer: SqliteWriter<EmbeddedOperations>;
  readonly patient: PatientReads;
}

export async function openEmbedded(dataFolder: string): Promise<EmbeddedDatabase> {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const path = join(dataFolder, 'terse.db');
  const writer = await SqliteWriter.start<EmbeddedOperations>({
    startThread: () => new Worker(new URL('./sqlite-writer.thread.ts', import.meta.url)),
    path,
  });
  return { reader: openForReading(path), writer, patient: patientReads(path) };
}

function patientReads(path: string): PatientReads {
  const clock = systemClock;
  const watch = new DiskWatch({ clock, diskReads: () => process.resourceUsage().fsRead });
  const thread = new ReadingThread<Link | null>({
    // Its answers become garbage once they are sent, and `smol` collects that sooner.
    startThread: () => new Worker(new URL('./sqlite-reader.thread.ts', import.meta.url), { smol: true }),
    path,
    onRound: longestMs => watch.note(longestMs),
  });
  return { clock, watch, thread };
}

/** Every component's part of the embedded database's schema, in the order of creation. */
export const embeddedMigrations: readonly MigrationSet[] = [linkMigrations, recordMigrations, sqliteFence];
