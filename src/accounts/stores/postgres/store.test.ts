import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { auditTrailOf, openPostgresHandles } from '../../../../test/kit/postgres-handles.ts';
import { auditMigrations } from '../../../engines/postgres/audit-table.ts';
import { accountStoreConformance } from '../../store.conformance.ts';
import { accountMigrations } from './schema.ts';
import { createPostgresAccountStore } from './store.ts';

describeWithEngine('postgres', 'accounts in Postgres', () => {
  accountStoreConformance('postgres', async () => {
    const { first, open, close } = await openPostgresHandles([auditMigrations, accountMigrations]);
    return {
      store: createPostgresAccountStore(first),
      reopen: async () => createPostgresAccountStore(open()),
      trail: () => auditTrailOf(first),
      dispose: close,
    };
  });
});
