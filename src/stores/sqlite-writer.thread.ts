/** The entry point of the thread that writes the embedded database: it knows every component's operations. */
import { runWriterLoop } from '../engines/sqlite/writer.ts';
import { linkOperations } from '../links/stores/sqlite/operations.ts';
import { recordOperations } from '../records/drivers/sqlite.ts';
import { embeddedMigrations } from './embedded.ts';

runWriterLoop(embeddedMigrations, database => ({
  ...linkOperations(database),
  ...recordOperations(database),
}));
