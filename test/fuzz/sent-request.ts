/** A plan whose gaps are filled in from the model: the bytes to send, and the facts about them. */
import { dimensionNames } from '../../src/clicks/dimensions.ts';
import { fieldSpellings } from '../../src/http/spellings.ts';
import { adminKey } from '../kit/terse-process.ts';
import { type ModelSession, sessionsKeptMax } from './account-model.ts';
import type { FuzzRequest } from './fuzz-client.ts';
import { jsonText } from './hostile-values.ts';
import { isHeld, type LinkInput, type Model, type ModelKey, type Owner } from './model.ts';
import type { BodyPlan, Caller, Place, RequestPlan } from './openapi-client.ts';
import { type Operation, pathsOf } from './openapi-operations.ts';

export interface SentRequest {
  readonly operation: Operation;
  readonly plan: RequestPlan;
  readonly bytes: FuzzRequest;
  /** As planned, unless what the plan needs does not exist. */
  readonly caller: Caller;
  /** The owner of the credential; `nobody` also for an invalid key. */
  readonly owner: Owner;
  /** The scopes of the caller. */
  readonly scopes: ReadonlySet<string>;
  readonly isAdmin: boolean;
  /** Whether its key has fewer scopes than its account. */
  readonly isNarrow: boolean;
  /** Whether it sees the links of all accounts: for an admin, and for moderators. */
  readonly seesAllLinks: boolean;
  /** The key that was sent, if an earlier request created it. */
  readonly issued: ModelKey | undefined;
  readonly session: ModelSession | undefined;
  /** Path parameters as they were sent. */
  readonly places: Readonly<Record<string, string>>;
  /** The body with canonical names; undefined when it is not JSON, or names a field twice. */
  readonly input: unknown;
  readonly header: (name: string) => string | undefined;
}

/** The keys from before the first request. */
export interface StartingKeys {
  readonly stranger: string;
  readonly suspended: string;
  /** Keys of the stranger, with one scope each. */
  readonly narrow: readonly { readonly secret: string; readonly scope: string }[];
}

export function fillIn(
  operation: Operation,
  plan: RequestPlan,
  model: Model,
  starting: StartingKeys,
): SentRequest {
  const identity = identityOf(plan, model, starting);
  const { owner, headers } = identity;
  const places: Record<string, string> = {};
  for (const [name, place] of Object.entries(plan.places)) {
    places[name] = placeText(operation, name, place, model, owner);
  }
  const paths = pathsOf(operation);
  const path = paths[plan.spelling % paths.length]!.replace(/\{(\w+)\}/g, (_, name: string) => places[name]!);
  const body = withSecrets(operation, plan, model, starting, owner);
  return {
    ...identity,
    operation,
    plan,
    seesAllLinks: identity.isAdmin || operation.scope === 'moderate',
    places,
    bytes: {
      method: operation.method,
      target: plan.query === '' ? path : `${path}?${plan.query}`,
      headers: [...headers, ...Object.entries(plan.headers)],
      body: bodyBytes(operation, body),
    },
    input: body?.kind === 'value' ? withCanonicalNames(body.value) : undefined,
    header: name => plan.headers[name],
  };
}

/** Sometimes replaces random secrets and codes by existing ones, which random texts never hit. */
function withSecrets(
  { id }: Operation,
  { body, spelling }: RequestPlan,
  model: Model,
  starting: StartingKeys,
  owner: Owner,
): BodyPlan | undefined {
  if (body?.kind !== 'value' || spelling % 2 === 0) return body;
  const value = body.value as Record<string, unknown> | null;
  if (typeof value !== 'object' || value === null) return body;
  if (id === 'openSession' && typeof value.key === 'string') {
    const issued = pickFrom(model.allKeys(false), spelling)?.secret;
    const isRoom = model.people.liveSessions('admin').length < sessionsKeptMax;
    const narrow = starting.narrow[0]!.secret;
    const known = [isRoom ? adminKey : narrow, issued ?? narrow, narrow, starting.suspended];
    return { ...body, value: { ...value, key: pickFrom(known, spelling >> 1) } };
  }
  if (id === 'reportLink' && typeof value.shortCode === 'string') {
    const links = spelling % 3 === 0 ? model.deletedLinks() : model.liveLinks();
    const known = pickFrom(links, spelling)?.view.shortCode;
    return { ...body, value: { ...value, shortCode: known ?? value.shortCode } };
  }
  if (id === 'editLinks' || id === 'deleteLinks')
    return { ...body, value: withSelection(value, spelling, model, owner) };
  if ((id === 'acceptInvitation' || id === 'readInvitation') && typeof value.token === 'string') {
    const invited = [...model.people.accounts.values()].filter(({ invitation }) => invitation !== undefined);
    return {
      ...body,
      value: { ...value, token: pickFrom(invited, spelling >> 1)?.invitation ?? value.token },
    };
  }
  if (id === 'editOwnAccount' && owner !== 'nobody') {
    const { password } = model.people.own(owner);
    return { ...body, value: { ...value, ...(password !== undefined && { currentPassword: password }) } };
  }
  return body;
}

/** Fills in codes, mostly those of existing links, or a filter; sometimes a destination that no link can have. */
function withSelection(
  value: Record<string, unknown>,
  spelling: number,
  model: Model,
  owner: Owner,
): Record<string, unknown> {
  const { codes, filter, limit: _limit, cursor: _cursor, ...rest } = value;
  if (typeof rest.change === 'object' && spelling % 16 === 3)
    rest.change = { ...rest.change, longUrl: 'ftp://files.example/' };
  if (!Array.isArray(codes)) return value;
  if (filter !== undefined && spelling % 4 === 1) return { ...rest, filter };
  const links = spelling % 3 === 0 ? [...model.links.values()] : model.linksOf(owner);
  const known = (code: unknown, place: number): unknown =>
    pickFrom(links, spelling * 7 + place * place)?.view.shortCode ?? code;
  return { ...rest, codes: codes.map(known) };
}

function bodyBytes({ bodyBytesMax }: Operation, body: BodyPlan | undefined): Uint8Array | undefined {
  if (body === undefined || body.kind === 'broken') return body?.bytes;
  const bytes = new TextEncoder().encode(jsonText(body.value));
  if (body.kind === 'value') return bytes;
  const padded = new Uint8Array(bodyBytesMax + body.excessBytes).fill(0x20);
  padded.set(bytes);
  return padded;
}

function pickFrom<Item>(items: readonly Item[], pick: number): Item | undefined {
  return items[pick % items.length];
}

/** The id or code of an existing item of this kind, or one that never existed. */
function placeText({ key }: Operation, name: string, place: Place, model: Model, owner: Owner): string {
  if (place.kind === 'written') return place.text;
  const isFormer = place.kind === 'former';
  if (name === 'id') return pickFrom(model.keysOf(owner, isFormer), place.pick)?.id ?? 'key_of-nobody';
  if (name === 'accountId') return pickFrom([...model.people.accounts.keys()], place.pick) ?? 'acc_of-nobody';
  if (name === 'dimension') return pickFrom(dimensionNames, place.pick)!;
  if (name === 'entryId') return pickFrom([...model.blockEntries.keys()], place.pick) ?? 'blk_of-nobody';
  if (name === 'sessionId') {
    const { people } = model;
    const sessions = isFormer ? people.endedSessions(owner) : people.liveSessions(owner);
    return pickFrom(sessions, place.pick)?.id ?? 'ses_of-nobody';
  }
  const links = place.kind === 'former' ? model.deletedLinks() : model.liveLinks();
  // Mostly the caller's own links, because others are answered as not found.
  const own = links.filter(link => link.owner === owner);
  const from = place.pick % 4 > 0 && own.length > 0 && key !== 'ignored' ? own : links;
  // Links that moderation holds are rare, so they are chosen separately.
  const held = place.pick % 5 === 0 ? from.filter(({ view }) => isHeld(view)) : [];
  if (held.length > 0) return pickFrom(held, place.pick >> 3)!.view.shortCode;
  // Half of the time one of the newest few, so that some links see more than one request.
  const among = (place.pick >> 2) % 2 === 0 ? from : from.slice(-popularLinks);
  return pickFrom(among, place.pick >> 3)?.view.shortCode ?? 'of-nobody';
}

const popularLinks = 8;

const brokenCredentials: readonly (readonly [string, string][])[] = [
  [['Authorization', 'Basic dGVzdA==']],
  [['Authorization', `Bearer ${adminKey} ${adminKey}`]],
  [['Authorization', 'Bearer']],
  [['X-Api-Key', '']],
  [['X-Api-Key', 'x'.repeat(600)]],
  [['X-Api-Key', 'k\u00e9y']],
  [
    ['Authorization', `Bearer ${adminKey}`],
    ['X-Api-Key', 'another'],
  ],
  [
    ['X-Api-Key', adminKey],
    ['X-Api-Key', adminKey],
  ],
];

type Identity = Pick<
  SentRequest,
  'caller' | 'owner' | 'scopes' | 'isAdmin' | 'isNarrow' | 'issued' | 'session'
> & { readonly headers: readonly (readonly [string, string])[] };

function identityOf(plan: RequestPlan, model: Model, starting: StartingKeys): Identity {
  const { people } = model;
  const issuedKey = pickFrom(model.allKeys(false), plan.spelling);
  const liveSession = pickFrom(people.liveSessions(), plan.spelling);
  const caller = plan.caller === 'session' && liveSession === undefined ? 'nobody' : plan.caller;
  const nobody = { owner: 'nobody', scopes: [] } as const;
  const identity = (
    who: { owner: Owner; scopes: readonly string[]; issued?: ModelKey; session?: ModelSession },
    headers: Identity['headers'],
  ): Identity => ({
    caller,
    owner: who.owner,
    scopes: new Set(who.scopes),
    isAdmin: who.scopes.includes('admin'),
    isNarrow: who.owner !== 'nobody' && who.scopes.length < people.roleScopesOf(who.owner).length,
    issued: who.issued,
    session: who.session,
    headers,
  });
  const bearer = (secret: string): [string, string][] => [['Authorization', `Bearer ${secret}`]];
  const wholly = (owner: Owner) => ({ owner, scopes: people.roleScopesOf(owner) });
  switch (caller) {
    case 'nobody':
      return identity(nobody, []);
    case 'admin':
      return identity(wholly('admin'), bearer(adminKey));
    case 'adminByHeader':
      return identity(wholly('admin'), [['X-Api-Key', adminKey]]);
    case 'stranger':
      return identity(wholly('stranger'), bearer(starting.stranger));
    case 'issuedKey':
      if (issuedKey === undefined) return identity(wholly('admin'), bearer(adminKey));
      return identity({ ...issuedKey, issued: issuedKey }, bearer(issuedKey.secret));
    case 'narrowKey': {
      const { secret, scope } = pickFrom(starting.narrow, plan.spelling)!;
      return identity({ owner: 'stranger', scopes: [scope] }, bearer(secret));
    }
    case 'session':
    case 'foreignSite': {
      const headers = [
        ['Cookie', liveSession?.cookie ?? 'terse_session=session_made-up'],
        ['Sec-Fetch-Site', caller === 'session' ? 'same-origin' : 'cross-site'],
      ] as const;
      if (liveSession === undefined) return identity(nobody, headers);
      return identity({ ...wholly(liveSession.owner), session: liveSession }, headers);
    }
    case 'suspendedKey':
      return identity(nobody, bearer(starting.suspended));
    case 'revokedKey':
      return identity(nobody, bearer(pickFrom(model.allKeys(true), plan.spelling)?.secret ?? 'never-issued'));
    case 'wrongKey':
      return identity(nobody, bearer(`${adminKey}x`));
    case 'brokenKey':
      return identity(nobody, brokenCredentials[plan.spelling % brokenCredentials.length]!);
  }
}

/** Fields that contain fields of a link. */
const nested = new Set(['change', 'filter']);

/** Undefined when one field comes under two names, which is always rejected. */
export function withCanonicalNames(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const renamed = Object.entries(value).map(([name, inner]) => [
    Object.hasOwn(fieldSpellings, name) ? fieldSpellings[name] : name,
    nested.has(name) ? withCanonicalNames(inner) : inner,
  ]);
  if (renamed.some(([name, inner]) => nested.has(String(name)) && inner === undefined)) return undefined;
  const input = Object.fromEntries(renamed) as LinkInput;
  return Object.keys(input).length === renamed.length ? input : undefined;
}

const shownMax = 800;

/** A description for failure messages. */
export function described({ bytes, plan }: SentRequest): string {
  const headers = bytes.headers.map(([name, value]) => `${name}: ${JSON.stringify(value.slice(0, 200))}`);
  const body =
    bytes.body === undefined ? 'no body' : new TextDecoder().decode(bytes.body.subarray(0, shownMax));
  return [`${plan.operationId}: ${bytes.method} ${bytes.target.slice(0, shownMax)}`, ...headers, body].join(
    '\n  ',
  );
}
