/** The entry point of the thread that writes the embedded database: it knows every component's operations. */
import { blocklistOperations } from '../abuse/stores/sqlite/operations.ts';
import { blocklistMigrations } from '../abuse/stores/sqlite/schema.ts';
import { accountOperations } from '../accounts/stores/sqlite/operations.ts';
import { accountMigrations } from '../accounts/stores/sqlite/schema.ts';
import { auditMigrations } from '../engines/sqlite/audit-table.ts';
import { runWriterLoop } from '../engines/sqlite/writer-loop.ts';
import { linkOperations } from '../links/stores/sqlite/operations.ts';
import { linkMigrations } from '../links/stores/sqlite/schema.ts';
import { moderationOperations, prepareKeepReview } from '../moderation/stores/sqlite/operations.ts';
import { moderationMigrations } from '../moderation/stores/sqlite/schema.ts';

const migrations = [
  auditMigrations,
  linkMigrations,
  accountMigrations,
  moderationMigrations,
  blocklistMigrations,
];

runWriterLoop(migrations, database => ({
  ...linkOperations(database, prepareKeepReview(database)),
  ...moderationOperations(database),
  ...accountOperations(database),
  ...blocklistOperations(database),
}));
