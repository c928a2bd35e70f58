/** The answers of the API that commands use: the types of the schemas that the server answers with. */
import type { z } from 'zod';
import type * as accounts from '../http/account-schemas.ts';
import type * as lists from '../http/link-list-schemas.ts';
import type * as moderation from '../http/moderation-schemas.ts';
import type * as reconciliations from '../http/reconcile-schemas.ts';
import type * as links from '../http/schemas.ts';
import type * as stats from '../http/stats-schemas.ts';

type Answer<Schema extends z.ZodType> = z.output<Schema>;

export type ApiLink = Answer<typeof links.linkAnswer>;
export type LinkPage = Answer<typeof lists.listAnswer>;
export type ApiKey = Answer<typeof accounts.keyAnswer>;
export type KeyPage = Answer<typeof accounts.keyListAnswer>;
export type NewKey = Answer<typeof accounts.newKeyAnswer>;
export type ApiAccount = Answer<typeof accounts.accountAnswer>;
export type AccountPage = Answer<typeof accounts.accountListAnswer>;
export type Invitation = Answer<typeof accounts.invitationAnswer>;
export type Queue = Answer<typeof moderation.queueAnswer>;
export type Case = Answer<typeof moderation.caseAnswer>;
export type BulkDecision = Answer<typeof moderation.bulkDecisionAnswer>;
export type ApiStats = Answer<typeof stats.statsAnswer>;
export type ValueCount = ApiStats['topCountries'][number];
/** A repair answers with how much was recounted, too. */
export type Reconciliation = Answer<typeof reconciliations.reconcileAnswer> &
  Partial<Answer<typeof reconciliations.repairAnswer>>;
export type ProducerAccount = Reconciliation['totals'];
export type Comparison = Answer<typeof reconciliations.compareAnswer>;

/** The printed fields of a problem document; the answer of another server may lack any of them. */
export interface ApiProblem {
  readonly title?: string;
  readonly detail?: string;
  readonly outcome?: string;
}

export interface BulkResult {
  readonly status: number;
  readonly link?: ApiLink;
  readonly problem?: ApiProblem;
}
