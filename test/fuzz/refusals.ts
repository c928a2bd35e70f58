/**
 * Every rejection needs a reason: for each problem code, what must be true of the request and the model. A code without
 * a row is one that no request may cause.
 */
import { dimensionNames } from '../../src/clicks/dimensions.ts';
import { codePattern } from '../../src/links/link.ts';
import { accountReasons, accountSubjectOf, namesAccountThing } from './account-refusals.ts';
import { listedHost } from './blocklist-effects.ts';
import { isContradictory } from './bulk-edit-effects.ts';
import type { Flaw } from './judge.ts';
import {
  hasTooManyTags,
  isHeld,
  type LinkInput,
  type Model,
  type ModelLink,
  type Owner,
  sameInputText,
  shown,
} from './model.ts';
import { isOrdinaryAddress } from './schema-arbitrary.ts';
import type { SentRequest } from './sent-request.ts';

export interface Case {
  readonly sent: SentRequest;
  readonly flaws: ReadonlySet<Flaw>;
  readonly model: Model;
  readonly owner: Owner;
  /** The body, or the rejected item of it. */
  readonly input: LinkInput;
  /** The key by which repeats of this item are recognised. */
  readonly repeatKey: string | undefined;
}

/** The shape of a generated code: such an alias may be below the high-water mark and therefore taken. */
const generatedShape = /^[0-9A-Za-z]{7}$/;

const reasons: Readonly<Record<string, (refused: Case) => boolean>> = {
  unauthorized: ({ flaws, owner, input, sent }) =>
    flaws.has('key') ||
    (owner === 'nobody' && input.customAlias !== undefined) ||
    // The credential of a sign-in is in the body.
    sent.operation.id === 'openSession',
  invalid_request: refused =>
    refused.flaws.has('query') ||
    isMalformed(refused) ||
    (refused.input.addTags !== undefined && hasTooManyTags(linkOf(refused), refused.input)),
  invalid_json: ({ flaws }) => flaws.has('json'),
  body_too_large: ({ flaws }) => flaws.has('size'),
  unsupported_media_type: ({ flaws }) => flaws.has('media'),
  invalid_url: refused => {
    const { longUrl } = changeIn(refused);
    return typeof longUrl === 'string' && !isOrdinaryAddress(longUrl);
  },
  url_blocked: ({ input: { longUrl } }) => URL.parse(String(longUrl))?.hostname === listedHost,
  invalid_expiry: refused => {
    const timeMs = Date.parse(String(changeIn(refused).expiresAt));
    return timeMs <= Date.now() || new Date(timeMs).getUTCFullYear() > 9_999;
  },
  invalid_alias: ({ input: { customAlias } }) =>
    typeof customAlias === 'string' && !codePattern.test(customAlias),
  alias_reserved: ({ input }) => typeof input.customAlias === 'string',
  alias_offensive: ({ input }) => typeof input.customAlias === 'string',
  alias_taken: ({ input: { customAlias }, model }) =>
    model.links.has(customAlias as string) || generatedShape.test(customAlias as string),
  idempotency_key_reused: ({ repeatKey, input, model }) => {
    const earlier = model.answered.get(repeatKey ?? '');
    return earlier !== undefined && earlier.input !== sameInputText(input);
  },
  // Only its owner sees the referring pages of a link, and can filter its clicks.
  not_found: refused =>
    refused.flaws.has('place') ||
    !isShownToAll(refused.sent.places.dimension) ||
    dimensionNames.some(name => new URLSearchParams(refused.sent.plan.query).has(name)) ||
    namesCodes(refused) ||
    subjectOf(refused) === undefined,
  link_deleted: refused => namesCodes(refused) || linkOf(refused)?.deleted === true,
  link_held: refused => isHeld(linkOf(refused)?.view) && refused.input.status !== undefined,
  link_quarantined: refused => linkOf(refused)?.view.status === 'quarantined',
  link_blocked: refused => linkOf(refused)?.view.status === 'blocked',
  appeal_refused: refused => linkOf(refused) !== undefined,
  edit_conflict: ({ sent }) => sent.operation.id === 'decideLink',
  link_disabled: refused => linkOf(refused)?.view.status === 'disabled',
  link_exhausted: refused => {
    const link = linkOf(refused);
    return link !== undefined && shown(link.view).status === 'exhausted';
  },
  ...accountReasons,
};

const isMalformed = ({ flaws, sent }: Case): boolean =>
  flaws.has('header') ||
  flaws.has('body') ||
  // The document cannot describe a valid account, domain or entry.
  ['decideLinks', 'addBlockEntry'].includes(sent.operation.id) ||
  isContradictory(sent) ||
  hasHeavyFilter(sent) ||
  dependsOnMore(sent);

/** The requested fields of a link; an edit of many links has them in a separate field. */
const changeIn = ({ sent, input }: Case): LinkInput =>
  sent.operation.id === 'editLinks' ? ((input.change ?? {}) as LinkInput) : input;

export function hasReason(code: string, refused: Case): boolean {
  return reasons[code]?.(refused) ?? false;
}

/**
 * Cases in which the document cannot distinguish valid values: only the server can read a cursor, a time zone must
 * exist, and a time range may be too long or reversed.
 */
function dependsOnMore({ plan }: SentRequest): boolean {
  const query = new URLSearchParams(plan.query);
  const names = ['cursor', 'timeZone', 'from', 'to', 'codes', 'subjectId', 'destinationDomain', 'longUrl'];
  return [...names, 'createdFrom', 'createdTo'].some(name => query.has(name));
}

/** Whether everyone sees this dimension of a link. */
const isShownToAll = (dimension: string | undefined): boolean =>
  dimension === undefined ||
  dimensionNames.some(name => name === dimension && name !== 'referrerUrl' && name !== 'link');

/** Limits of filters and their values that the schema cannot express. */
function hasHeavyFilter({ plan, operation }: SentRequest): boolean {
  const query = new URLSearchParams(plan.query);
  // A comma after a backslash belongs to its value.
  const filters = dimensionNames
    .filter(name => query.has(name))
    .map(name => query.get(name)!.split(/(?<!\\),/));
  const isHeavy = filters.some(values => values.length > 50 || values.some(value => value.length > 200));
  const comparesPart = query.has('compareFrom') || query.has('compareTo');
  // Minutes are not kept for a year.
  const comparesMinutes = query.get('interval') === 'minute' && query.get('compare') === 'year';
  const hasLinksTwice = operation.id === 'readBreakdown' && query.has('codes');
  return filters.length > 10 || isHeavy || comparesPart || comparesMinutes || hasLinksTwice;
}

/** The subject of the path, if it is visible to the caller. */
function subjectOf(refused: Case): unknown {
  const { entryId } = refused.sent.places;
  if (entryId !== undefined) return refused.model.blockEntries.get(entryId);
  return namesAccountThing(refused.sent) ? accountSubjectOf(refused) : linkOf(refused);
}

function linkOf({ sent, model, owner }: Case): ModelLink | undefined {
  const code = sent.places.code ?? reportedCode(sent);
  if (code === undefined) return undefined;
  const link = model.links.get(code);
  const isPublic =
    ['readLinkStats', 'readLinkBreakdown'].includes(sent.operation.id) &&
    link?.deleted === false &&
    link.view.publicStats;
  const isAnyones = sent.operation.key === 'ignored' || sent.operation.id === 'reportLink';
  return isAnyones || isPublic ? link : model.manageable(code, owner, sent.seesAllLinks);
}

/** A report names its link in the body. */
function reportedCode({ operation, input }: SentRequest): string | undefined {
  const { shortCode } = (input ?? {}) as { shortCode?: unknown };
  return operation.id === 'reportLink' && typeof shortCode === 'string' ? shortCode : undefined;
}

/** Whether the query of statistics names several links. */
const namesCodes = ({ sent }: Case): boolean => new URLSearchParams(sent.plan.query).has('codes');
