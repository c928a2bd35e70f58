/** A plan with the gaps filled in from what exists: the bytes to send, and what is known about them. */
import { fieldSpellings } from '../../src/http/spellings.ts';
import { adminKey } from '../kit/terse-process.ts';
import type { FuzzRequest } from './fuzz-client.ts';
import { jsonText } from './hostile-values.ts';
import { type LinkInput, type Model, type Owner, ownerOf } from './model.ts';
import type { BodyPlan, Place, RequestPlan } from './openapi-client.ts';
import { type Operation, pathsOf } from './openapi-operations.ts';

export interface SentRequest {
  readonly operation: Operation;
  readonly plan: RequestPlan;
  readonly bytes: FuzzRequest;
  /** On whose behalf; `nobody` also for those whose key is not valid. */
  readonly owner: Owner;
  /** Path parameters as they were sent. */
  readonly places: Readonly<Record<string, string>>;
  /** The body under canonical names; undefined when it is no JSON, or names a field twice. */
  readonly input: unknown;
  readonly header: (name: string) => string | undefined;
}

export function fillIn(
  operation: Operation,
  plan: RequestPlan,
  model: Model,
  strangerKey: string,
): SentRequest {
  const issued = pickFrom(model.allKeys(false), plan.spelling);
  const revoked = pickFrom(model.allKeys(true), plan.spelling);
  const owner = ownerOf(plan.caller, issued);
  const places: Record<string, string> = {};
  for (const [name, place] of Object.entries(plan.places)) {
    places[name] = placeText(operation, name, place, model, owner);
  }
  const paths = pathsOf(operation);
  const path = paths[plan.spelling % paths.length]!.replace(/\{(\w+)\}/g, (_, name: string) => places[name]!);
  const secrets = {
    admin: adminKey,
    stranger: strangerKey,
    issued: issued?.secret,
    revoked: revoked?.secret,
  };
  return {
    operation,
    plan,
    owner,
    places,
    bytes: {
      method: operation.method,
      target: plan.query === '' ? path : `${path}?${plan.query}`,
      headers: [...credentials(plan, secrets), ...Object.entries(plan.headers)],
      body: bodyBytes(operation, plan.body),
    },
    input: plan.body?.kind === 'value' ? withCanonicalNames(plan.body.value) : undefined,
    header: name => plan.headers[name],
  };
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

/** Something of the asked kind, or what nobody has ever made when there is none. */
function placeText({ key }: Operation, name: string, place: Place, model: Model, owner: Owner): string {
  if (place.kind === 'written') return place.text;
  if (name === 'id') {
    return pickFrom(model.keysOf(owner, place.kind === 'former'), place.pick)?.id ?? 'key_of-nobody';
  }
  const links = place.kind === 'former' ? model.deletedLinks() : model.liveLinks();
  // Mostly the caller's own, because what others have is answered like nothing.
  const own = links.filter(link => link.owner === owner);
  const from = place.pick % 4 > 0 && own.length > 0 && key !== 'ignored' ? own : links;
  // Half of the time one of the newest few, so that some links see more than one request.
  const among = (place.pick >> 2) % 2 === 0 ? from : from.slice(-popularLinks);
  return pickFrom(among, place.pick >> 3)?.view.shortCode ?? 'of-nobody';
}

const popularLinks = 8;

interface Secrets {
  readonly admin: string;
  readonly stranger: string;
  readonly issued: string | undefined;
  readonly revoked: string | undefined;
}

const brokenCredentials: readonly (readonly [string, string][])[] = [
  [['Authorization', 'Basic dGVzdA==']],
  [['Authorization', `Bearer ${adminKey} ${adminKey}`]],
  [['Authorization', adminKey]],
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

function credentials(plan: RequestPlan, secrets: Secrets): readonly (readonly [string, string])[] {
  const bearer = (secret: string): [string, string][] => [['Authorization', `Bearer ${secret}`]];
  switch (plan.caller) {
    case 'nobody':
      return [];
    case 'admin':
      return bearer(secrets.admin);
    case 'adminByHeader':
      return [['X-Api-Key', secrets.admin]];
    case 'stranger':
      return bearer(secrets.stranger);
    case 'issuedKey':
      return bearer(secrets.issued ?? secrets.admin);
    case 'revokedKey':
      return bearer(secrets.revoked ?? 'never-issued');
    case 'wrongKey':
      return bearer(`${adminKey}x`);
    case 'brokenKey':
      return brokenCredentials[plan.spelling % brokenCredentials.length]!;
  }
}

/** Undefined when one field comes under two names, which is refused whatever it says. */
export function withCanonicalNames(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const renamed = Object.entries(value).map(([name, inner]) => [
    Object.hasOwn(fieldSpellings, name) ? fieldSpellings[name] : name,
    inner,
  ]);
  const input = Object.fromEntries(renamed) as LinkInput;
  return Object.keys(input).length === renamed.length ? input : undefined;
}

const shownMax = 800;

/** For the message of a failure. */
export function described({ bytes, plan }: SentRequest): string {
  const headers = bytes.headers.map(([name, value]) => `${name}: ${JSON.stringify(value.slice(0, 200))}`);
  const body =
    bytes.body === undefined ? 'no body' : new TextDecoder().decode(bytes.body.subarray(0, shownMax));
  return [`${plan.operationId}: ${bytes.method} ${bytes.target.slice(0, shownMax)}`, ...headers, body].join(
    '\n  ',
  );
}
