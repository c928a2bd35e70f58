/** The answers of the API that the dashboard uses: the types of the schemas that the server answers with. */
import type { z } from 'zod';
import type { ClickValues } from '../../../../clicks/dimensions.ts';
import type * as accounts from '../../../../http/account-schemas.ts';
import type * as lists from '../../../../http/link-list-schemas.ts';
import type * as moderation from '../../../../http/moderation-schemas.ts';
import type * as links from '../../../../http/schemas.ts';
import type * as stats from '../../../../http/stats-schemas.ts';
import type { texts } from '../../texts.ts';

type Answer<Schema extends z.ZodType> = z.output<Schema>;
type Body<Schema extends z.ZodType> = z.input<Schema>;

export type LinkView = Answer<typeof links.linkAnswer>;
/** The switches that the form of a link has. */
export type LinkSwitches = Pick<LinkView, keyof typeof texts.form.switches>;
export type LinkStatus = LinkView['status'];
export type LinkHealth = NonNullable<LinkView['health']>;
export type LinkFields = Omit<Body<typeof links.patchBody>, 'tags' | 'redirectType'> & {
  readonly customAlias?: string;
  readonly tags?: readonly string[];
  readonly redirectType?: number;
};
export type LinkPage = Answer<typeof lists.listAnswer>;
export type LinkTotal = Answer<typeof stats.linkTotalsAnswer>['links'][number];
export type AliasAnswer = Answer<typeof links.aliasAnswer>;
/** The result of one link of many: the current link, unless it was deleted or not changed. */
export interface BulkResult {
  readonly shortCode: string;
  readonly status: number;
  readonly link?: LinkView;
  readonly problem?: Answer<typeof links.problemAnswer>;
}

/** The result of one of many new links. */
export type NewLinkResult = Omit<BulkResult, 'shortCode'>;
export type SharedStats = Answer<typeof stats.statsTokenAnswer>;

export type Stats = Answer<typeof stats.statsAnswer>;
export type Interval = Stats['interval'];
export type Bucket = Stats['series'][number];
export type ValueCount = Stats['topCountries'][number];
export type ValuePage = Answer<typeof stats.breakdownAnswer>;
export type RecentClicks = Answer<typeof stats.recentAnswer>;
export type RecentClick = RecentClicks['clicks'][number];
export interface LiveClick extends ClickValues {
  readonly at: string;
  readonly kind: string;
  /** `none`, or why it is suspicious. */
  readonly signal: string;
  readonly city: string;
}
export interface LiveEvent {
  readonly counts: Readonly<Record<string, number>>;
  readonly clicks: readonly LiveClick[];
}

export type AccountView = Answer<typeof accounts.accountAnswer>;
export type Role = AccountView['role'];
export type AccountPage = Answer<typeof accounts.accountListAnswer>;
export type AccountFields = Body<typeof accounts.accountChangeBody>;
export type NewAccount = Body<typeof accounts.newAccountBody>;
export type Invitation = Answer<typeof accounts.invitationAnswer>;
export type OpenInvitation = Answer<typeof accounts.openInvitationAnswer>;
export type SignInOptions = Answer<typeof accounts.signInOptionsAnswer>;
export type NewPerson = Body<typeof accounts.signUpBody>;
export type OwnChange = Body<typeof accounts.ownChangeBody>;
export type OpenSession = Answer<typeof accounts.sessionAnswer>;
export type KeyView = Answer<typeof accounts.keyAnswer>;
export type KeyPage = Answer<typeof accounts.keyListAnswer>;
export type NewKey = Answer<typeof accounts.newKeyAnswer>;
export type KeyFields = Body<typeof accounts.keyBody>;

export type Queue = Answer<typeof moderation.queueAnswer>;
export type QueueEntry = Queue['entries'][number];
export type ModeratedLink = QueueEntry['link'];
export type Case = Answer<typeof moderation.caseAnswer>;
export type Decision = Exclude<Body<typeof moderation.decisionBody>['decision'], 'disable'>;
export type AuditPage = Answer<typeof moderation.auditAnswer>;
export type AuditEntry = AuditPage['entries'][number];
export type HistoryPage = Answer<typeof moderation.historyAnswer>;

export type Blocklist = Answer<typeof moderation.blocklistAnswer>;
export type BlockEntry = Answer<typeof moderation.blockEntryAnswer>;
export type ServerStatus = Answer<typeof links.statusAnswer>;
