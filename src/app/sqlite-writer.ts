/** The entry point of the thread that writes the embedded database: it knows every component's operations. */
import { blocklistOperations } from '../abuse/stores/sqlite/operations.ts';
import { accountOperations } from '../accounts/stores/sqlite/operations.ts';
import { runWriterLoop } from '../engines/sqlite/writer-loop.ts';
import { linkOperations } from '../links/stores/sqlite/operations.ts';
import { moderationOperations, prepareKeepReview } from '../moderation/stores/sqlite/operations.ts';
import { embeddedMigrations } from './embedded-schema.ts';

runWriterLoop(embeddedMigrations, database => ({
  ...linkOperations(database, prepareKeepReview(database)),
  ...moderationOperations(database),
  ...accountOperations(database),
  ...blocklistOperations(database),
}));
