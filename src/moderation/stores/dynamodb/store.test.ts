import { type DynamoTable, freshDynamoTable } from '../../../../test/kit/dynamo-table.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { systemClock } from '../../../base/clock.ts';
import { systemRandom } from '../../../base/random.ts';
import { createDynamoStore } from '../../../links/stores/dynamodb/store.ts';
import { moderationConformance } from '../../store.conformance.ts';
import { createDynamoAuditLog } from './audit-log.ts';
import { createReviewNoteItems } from './review-items.ts';
import { createDynamoReviewStore } from './store.ts';

const clock = systemClock;
const storesOn = (table: DynamoTable) => {
  const { dynamo, auditItems } = table;
  const reviewNoteItems = createReviewNoteItems(dynamo);
  const expiryGraceMs = 365 * 24 * 60 * 60 * 1_000;
  return {
    links: createDynamoStore(dynamo, {
      clock,
      random: systemRandom,
      auditItems,
      reviewNoteItems,
      expiryGraceMs,
    }),
    reviews: createDynamoReviewStore({ ...table, clock }),
    audit: createDynamoAuditLog(dynamo, auditItems),
  };
};

describeWithEngine('dynamodb', 'on DynamoDB', () => {
  moderationConformance('dynamodb', async () => {
    const table = await freshDynamoTable();
    return {
      ...storesOn(table),
      forgetsByItself: true,
      reopen: async () => storesOn(table.again()),
      dispose: table.dispose,
    };
  });
});
