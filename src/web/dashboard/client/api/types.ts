/** What the API answers, as far as the dashboard looks at it. The OpenAPI document is the full description. */
export type LinkStatus = 'active' | 'disabled' | 'expired' | 'exhausted' | 'quarantined' | 'blocked';

export interface LinkView {
  readonly shortCode: string;
  readonly shortUrl: string;
  readonly longUrl: string;
  readonly status: LinkStatus;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly expiresAt: string | null;
  readonly title: string | null;
  readonly tags: readonly string[];
  readonly redirectType: number;
  readonly forwardQuery: boolean;
  readonly publicStats: boolean;
  readonly maxClicks: number | null;
  readonly usedClicks: number;
  readonly custom: boolean;
  /** Absent where nobody asks destinations, null while nothing is known. */
  readonly health?: LinkHealth | null;
  readonly risk?: { readonly score: number; readonly reasons: readonly string[] } | null;
}

export interface LinkHealth {
  readonly status: 'ok' | 'failing';
  readonly checkedAt: string;
  readonly failingSince: string | null;
  readonly httpStatus: number | null;
  readonly reason:
    | 'no_such_name'
    | 'not_public'
    | 'no_connection'
    | 'bad_certificate'
    | 'too_slow'
    | 'no_http'
    | null;
}

export interface LinkFields {
  readonly longUrl?: string;
  readonly customAlias?: string;
  readonly expiresAt?: string | null;
  readonly title?: string | null;
  readonly tags?: readonly string[];
  readonly redirectType?: number;
  readonly forwardQuery?: boolean;
  readonly publicStats?: boolean;
  readonly maxClicks?: number | null;
  readonly status?: 'active' | 'disabled';
}

/** What became of one link of many. */
export interface BulkResult {
  readonly shortCode: string;
  readonly status: number;
  /** As it is now, unless it was deleted or not changed. */
  readonly link?: LinkView;
  readonly problem?: { readonly detail: string };
}

export interface LinkPage {
  readonly links: readonly LinkView[];
  readonly nextCursor: string | null;
}

export interface LinkTotal {
  readonly shortCode: string;
  readonly clicks: number;
  readonly botClicks: number;
  readonly suspiciousClicks: number;
  readonly lastClickAt: string | null;
}

export type Interval = 'minute' | 'hour' | 'day';

export interface Bucket {
  readonly start: string;
  readonly clicks: number;
  readonly botClicks: number;
  readonly suspiciousClicks: number;
  readonly filling: boolean;
}

export interface ValueCount {
  readonly value: string;
  readonly clicks: number;
}

export interface Stats {
  readonly from: string;
  readonly to: string;
  readonly interval: Interval;
  readonly timeZone: string;
  /** Single minutes are kept from here on. */
  readonly minutesFrom: string;
  /** Of all time. */
  readonly totalClicks: number;
  readonly clicks24h: number;
  /** Of the time from `from` to `to`. */
  readonly range: {
    readonly clicks: number;
    readonly botClicks: number;
    /** Of the clicks, those that came at a pace that people do not have. */
    readonly suspiciousClicks: number;
    readonly visitors: number;
  };
  readonly series: readonly Bucket[];
  readonly topReferrers: readonly ValueCount[];
  readonly topCountries: readonly ValueCount[];
  readonly devices: readonly ValueCount[];
  readonly browsers: readonly ValueCount[];
  readonly os: readonly ValueCount[];
  /** Only of an account or a tag. */
  readonly topLinks?: readonly ValueCount[];
  readonly lastUpdatedAt: string | null;
}

export interface LiveClick {
  readonly at: string;
  readonly kind: string;
  /** `none`, or why it is suspicious. */
  readonly signal: string;
  readonly country: string;
  readonly city: string;
  readonly browser: string;
  readonly os: string;
  readonly device: string;
  readonly referrer: string;
}

export interface LiveEvent {
  readonly counts: Readonly<Record<string, number>>;
  readonly clicks: readonly LiveClick[];
}

export interface KeyView {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

export type Role = 'member' | 'moderator' | 'admin';

export interface AccountView {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: Role;
  readonly plan: string;
  readonly hasPassword: boolean;
  readonly createdAt: string;
}

export interface OpenSession {
  readonly id: string;
  readonly isCurrent: boolean;
  readonly userAgent: string;
  readonly createdAt: string;
  readonly lastSeenAt: string;
  readonly expiresAt: string;
}

export interface HistoryEntry {
  readonly at: string;
  readonly action: string;
  readonly by: string;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly reason: string | null;
}
