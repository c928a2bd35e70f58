/** What the verbs of this folder work with. `compose.ts` builds it once; tests build small ones. */

import type { AuditLog } from '../audit/audit-log.ts';
import type { LinkContext } from '../links/context.ts';
import type { ReviewStore } from './store.ts';

export interface ModerationContext {
  readonly links: Pick<LinkContext, 'store' | 'clock'>;
  readonly reviews: ReviewStore;
  readonly audit: AuditLog;
  /** Keys the hash that identifies a reporter. */
  readonly reporterKey: Uint8Array;
}
