/** Every component's part of the embedded database's schema, in the order in which they are made. */
import { blocklistMigrations } from '../abuse/stores/sqlite/schema.ts';
import { accountMigrations } from '../accounts/stores/sqlite/schema.ts';
import { auditMigrations } from '../engines/sqlite/audit-table.ts';
import type { MigrationSet } from '../engines/sqlite/migrations.ts';
import { linkMigrations } from '../links/stores/sqlite/schema.ts';
import { moderationMigrations } from '../moderation/stores/sqlite/schema.ts';

export const embeddedMigrations: readonly MigrationSet[] = [
  auditMigrations,
  linkMigrations,
  accountMigrations,
  moderationMigrations,
  blocklistMigrations,
];
