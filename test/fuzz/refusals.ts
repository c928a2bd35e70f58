/**
 * Every refusal needs a reason. For each problem code, what must be true of the request and of what exists for
 * the server to say so; a code without a row here is one that no request may cause.
 */
import { codePattern } from '../../src/links/link.ts';
import type { Flaw } from './judge.ts';
import { type LinkInput, type Model, type ModelLink, type Owner, sameInputText, shown } from './model.ts';
import { isOrdinaryAddress } from './schema-arbitrary.ts';
import type { SentRequest } from './sent-request.ts';

export interface Case {
  readonly sent: SentRequest;
  readonly flaws: ReadonlySet<Flaw>;
  readonly model: Model;
  readonly owner: Owner;
  /** The body, or the one item of it that was refused. */
  readonly input: LinkInput;
  /** Under which repeats of this item are known. */
  readonly repeatKey: string | undefined;
}

const keysPerAccountMax = 100;
/** The shape of a generated code: such an alias may lie below the mark and so count as taken. */
const generatedShape = /^[0-9A-Za-z]{7}$/;

const reasons: Readonly<Record<string, (refused: Case) => boolean>> = {
  unauthorized: ({ flaws, owner, input }) =>
    flaws.has('key') || (owner === 'nobody' && input.customAlias !== undefined),
  invalid_request: ({ flaws, sent }) =>
    flaws.has('query') || flaws.has('header') || flaws.has('body') || dependsOnMore(sent),
  invalid_json: ({ flaws }) => flaws.has('json'),
  body_too_large: ({ flaws }) => flaws.has('size'),
  unsupported_media_type: ({ flaws }) => flaws.has('media'),
  invalid_url: ({ input: { longUrl } }) => typeof longUrl === 'string' && !isOrdinaryAddress(longUrl),
  invalid_expiry: ({ input: { expiresAt } }) => {
    const timeMs = Date.parse(String(expiresAt));
    return timeMs <= Date.now() || new Date(timeMs).getUTCFullYear() > 9_999;
  },
  invalid_alias: ({ input: { customAlias } }) =>
    typeof customAlias === 'string' && !codePattern.test(customAlias),
  alias_reserved: ({ input }) => typeof input.customAlias === 'string',
  alias_taken: ({ input: { customAlias }, model }) =>
    model.links.has(customAlias as string) || generatedShape.test(customAlias as string),
  idempotency_key_reused: ({ repeatKey, input, model }) => {
    const earlier = model.answered.get(repeatKey ?? '');
    return earlier !== undefined && earlier.input !== sameInputText(input);
  },
  not_found: refused => refused.flaws.has('place') || namesCodes(refused) || subjectOf(refused) === undefined,
  link_deleted: refused => namesCodes(refused) || linkOf(refused)?.deleted === true,
  link_disabled: refused => linkOf(refused)?.view.status === 'disabled',
  link_exhausted: refused => {
    const link = linkOf(refused);
    return link !== undefined && shown(link.view).status === 'exhausted';
  },
  forbidden: ({ model, owner, sent }) =>
    (sent.operation.path === '/api/v1/reconcile' && owner !== 'admin') ||
    model.keysOf(owner, false).length >= keysPerAccountMax - 1,
};

export function hasReason(code: string, refused: Case): boolean {
  return reasons[code]?.(refused) ?? false;
}

/**
 * Where the document cannot tell a good value from a bad one: a cursor means something to the server alone, a
 * time zone is in a list or it is not, and a range of time may be too long or the wrong way round.
 */
function dependsOnMore({ plan }: SentRequest): boolean {
  const query = new URLSearchParams(plan.query);
  return ['cursor', 'timeZone', 'from', 'to', 'codes'].some(name => query.has(name));
}

/** What the path names, as far as the caller may know of it. */
function subjectOf(refused: Case): unknown {
  const { id } = refused.sent.places;
  if (id === undefined) return linkOf(refused);
  const key = refused.model.keys.get(id);
  return key?.owner === refused.owner && !key.revoked ? key : undefined;
}

function linkOf({ sent, model, owner }: Case): ModelLink | undefined {
  const { code } = sent.places;
  if (code === undefined) return undefined;
  const link = model.links.get(code);
  const isPublic = sent.operation.id === 'readLinkStats' && link?.deleted === false && link.view.publicStats;
  return sent.operation.key === 'ignored' || isPublic ? link : model.manageable(code, owner);
}

/** Statistics can be asked for several links in the query. */
const namesCodes = ({ sent }: Case): boolean => new URLSearchParams(sent.plan.query).has('codes');
