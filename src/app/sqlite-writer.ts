/** The entry point of the thread that writes the embedded database: it knows every component's operations. */
import { accountOperations } from '../accounts/stores/sqlite/operations.ts';
import { accountMigrations } from '../accounts/stores/sqlite/schema.ts';
import { runWriterLoop } from '../engines/sqlite/writer-loop.ts';
import { linkOperations } from '../links/stores/sqlite/operations.ts';
import { linkMigrations } from '../links/stores/sqlite/schema.ts';

runWriterLoop([linkMigrations, accountMigrations], database => ({
  ...linkOperations(database),
  ...accountOperations(database),
}));
