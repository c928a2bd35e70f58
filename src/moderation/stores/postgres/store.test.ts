import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { openPostgresHandles } from '../../../../test/kit/postgres-handles.ts';
import { systemClock } from '../../../base/clock.ts';
import { auditMigrations } from '../../../engines/postgres/audit-table.ts';
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import { linkMigrations } from '../../../links/stores/postgres/schema.ts';
import { createPostgresStore } from '../../../links/stores/postgres/store.ts';
import { moderationConformance } from '../../store.conformance.ts';
import { createPostgresAuditLog } from './audit-log.ts';
import { keepReviewNotes } from './review-table.ts';
import { moderationMigrations } from './schema.ts';
import { createPostgresReviewStore } from './store.ts';

const migrations = [auditMigrations, linkMigrations, moderationMigrations];

const storesOn = (postgres: Postgres) => ({
  links: createPostgresStore(postgres, { clock: systemClock, keepReviews: keepReviewNotes }),
  reviews: createPostgresReviewStore(postgres),
});

describeWithEngine('postgres', 'moderation in Postgres', () => {
  moderationConformance('postgres', async () => {
    const { first, open, close } = await openPostgresHandles(migrations);
    return {
      ...storesOn(first),
      audit: createPostgresAuditLog(first),
      reopen: async () => storesOn(open()),
      dispose: close,
    };
  });
});
