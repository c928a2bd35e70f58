/** Every component's part of the embedded database's schema, in the order of creation. */
import type { MigrationSet } from '../engines/sqlite/migrations.ts';
import { linkMigrations } from '../links/stores/sqlite/schema.ts';
import { recordMigrations } from '../records/drivers/sqlite.ts';
import {
  accountMigrations,
  auditMigrations,
  blocklistMigrations,
  fenceMigrations,
  moderationMigrations,
} from './former-schema-sqlite.ts';

export const embeddedMigrations: readonly MigrationSet[] = [
  auditMigrations,
  linkMigrations,
  accountMigrations,
  moderationMigrations,
  blocklistMigrations,
  recordMigrations,
  fenceMigrations,
];
