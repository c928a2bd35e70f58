import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { auditTrailOf, openPostgresHandles } from '../../../../test/kit/postgres-handles.ts';
import { auditMigrations } from '../../../engines/postgres/audit-table.ts';
import { operatorEntriesConformance } from '../../operator-entries.conformance.ts';
import { blocklistMigrations } from './schema.ts';
import { createPostgresEntryStore } from './store.ts';

describeWithEngine('postgres', 'operator entries in Postgres', () => {
  operatorEntriesConformance('postgres', async () => {
    const { first, open, close } = await openPostgresHandles([auditMigrations, blocklistMigrations]);
    return {
      store: createPostgresEntryStore(first),
      reopen: async () => createPostgresEntryStore(open()),
      trail: () => auditTrailOf(first),
      dispose: close,
    };
  });
});
