/**
 * The two shapes of a link, record and item, and the way between them. What has its usual value is left out of the item:
 * with billions of them every byte is paid for. The attributes that end in `Key` put the item into an index; a link that
 * an index should not show does not carry them.
 */
import type { Item } from '../../../engines/dynamodb/dynamodb.ts';
import type { Link, LinkRisk, LinkStatus, RedirectType } from '../../link.ts';
import { type AfterExpiry, codeOf, expiryKey, linkKey, ownerKey, siteKey, urlKey } from './keys.ts';

export interface LinkRow {
  readonly pk: string;
  readonly sk: string;
  readonly place: string;
  readonly version: number;
  readonly status: LinkStatus;
  /** Absent for a tombstone. */
  readonly url?: string;
  /** Absent for a link made anonymously. */
  readonly owner?: string;
  readonly custom?: true;
  /** Neither a lease nor a claim protects the code: the item must outlive the link. */
  readonly guards?: true;
  readonly redirectType?: RedirectType;
  readonly forwardQuery?: true;
  readonly publicStats?: true;
  /** Null stands for a title of no characters: engines of before 2020 keep no empty text. */
  readonly title?: string | null;
  readonly tags?: readonly string[];
  readonly risk?: LinkRisk;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt?: number;
  readonly maxClicks?: number;
  readonly usedClicks: number;
  /** Clicks that are left of `maxClicks`: a condition can compare an attribute with a value, not with a difference. */
  readonly clicksLeft?: number;
}

export interface RowOptions {
  readonly place: string;
  readonly guards: boolean;
  /** How long after its expiry the engine may drop the item; see `ttlOf`. */
  readonly expiryGraceMs: number;
}

const redirectTypeUsual = 302;

export function linkOf(row: LinkRow): Link {
  return {
    code: codeOf(row),
    longUrl: row.url ?? '',
    ownerId: row.owner ?? null,
    origin: row.custom === true ? 'custom' : 'generated',
    status: row.status,
    redirectType: row.redirectType ?? redirectTypeUsual,
    forwardQuery: row.forwardQuery ?? false,
    publicStats: row.publicStats ?? false,
    title: row.title === undefined ? null : (row.title ?? ''),
    tags: row.tags ?? [],
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    expiresAt: row.expiresAt ?? null,
    maxClicks: row.maxClicks ?? null,
    usedClicks: row.usedClicks,
    risk: row.risk ?? null,
    version: row.version,
  };
}

export function itemOf(link: Link, options: RowOptions): Item {
  return {
    ...linkKey(link.code),
    ...editableAttributes(link, options),
    place: options.place,
    owner: link.ownerId ?? undefined,
    custom: link.origin === 'custom' || undefined,
    guards: options.guards || undefined,
    createdAt: link.createdAt,
    usedClicks: link.usedClicks,
    clicksLeft: link.maxClicks === null ? undefined : link.maxClicks - link.usedClicks,
  };
}

/** What an edit writes. Clicks may be counted between its read and its write, so it leaves those alone. */
export function editableAttributes(link: Link, { guards, expiryGraceMs }: Omit<RowOptions, 'place'>) {
  const { code, ownerId, longUrl, status, expiresAt } = link;
  const fate = fateOf(link, guards);
  return {
    version: link.version,
    status,
    url: longUrl === '' ? undefined : longUrl,
    redirectType: link.redirectType === redirectTypeUsual ? undefined : link.redirectType,
    forwardQuery: link.forwardQuery || undefined,
    publicStats: link.publicStats || undefined,
    title: link.title === null ? undefined : link.title === '' ? null : link.title,
    tags: link.tags.length === 0 ? undefined : link.tags,
    risk: link.risk === null ? undefined : { score: link.risk.score, reasons: link.risk.reasons },
    updatedAt: link.updatedAt,
    expiresAt: expiresAt ?? undefined,
    maxClicks: link.maxClicks ?? undefined,
    ownerKey: status === 'deleted' ? undefined : ownerKey(ownerId, code),
    urlKey: status === 'active' ? urlKey(ownerId, longUrl) : undefined,
    siteKey: siteKey(longUrl, code),
    expiryKey: expiresAt === null ? undefined : expiryKey(fate, code),
    ttl: ttlOf(link, guards, expiryGraceMs),
  };
}

export const fateOf = ({ origin }: Pick<Link, 'origin'>, guards: boolean): AfterExpiry =>
  origin === 'custom' || guards ? 'emptied' : 'removed';

/**
 * When the engine may drop the item by itself. Only what nothing is lost with carries this: an expired link whose code
 * stays protected by the mark or its claim. Anything else is emptied by the sweeper.
 */
export function ttlOf(link: Link, guards: boolean, expiryGraceMs: number): number | undefined {
  if (link.expiresAt === null || fateOf(link, guards) === 'emptied') return undefined;
  return secondsOf(link.expiresAt + expiryGraceMs);
}

export const secondsOf = (timeMs: number): number => Math.ceil(timeMs / 1_000);
