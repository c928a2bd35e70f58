/**
 * The fields of a link, one row each. What a link is, in every store, in the shared cache, in the queue, in the API and
 * on the command line, is built from this table. All fields are stored and queued; a row says the rest.
 *
 * Data outlives versions: a field that is added later has a higher `since` and a default, which records without it have.
 */
import { compileObject } from '../base/compiled-object.ts';

export interface LinkField<Value = unknown> {
  readonly kind: FieldKind;
  readonly isNullable: boolean;
  /** For a `choice`: all values. Stores keep the position of a text, so the order is part of the format: append only. */
  readonly choices?: readonly Value[];
  /** The value where none was stated; a record without the field has it. Undefined where every record states one. */
  readonly default: Value | undefined;
  /** The layout of records that has the field first. Stores add the columns of later layouts when they are opened. */
  readonly since: number;
  /** Whether the shared cache holds it. */
  readonly isCached: boolean;
  /** Its name in stores, where that is not its own. */
  readonly storedAs?: string;
}

export type FieldKind = 'text' | 'flag' | 'count' | 'time' | 'choice' | 'texts' | 'risk';

/** The stored status: see `LinkStatus`. */
export const linkStatuses = ['active', 'disabled', 'deleted', 'quarantined', 'blocked'] as const;
export const linkOrigins = ['generated', 'custom'] as const;
export const redirectTypes = [301, 302, 307, 308] as const;

/** From 0, no known risk, to 100; `reasons` name the signals that fired. */
export interface LinkRisk {
  readonly score: number;
  readonly reasons: readonly string[];
}

type Rest<Value> = Partial<Omit<LinkField<Value>, 'kind' | 'isNullable'>>;

const field = <Value>(kind: FieldKind, rest: Rest<Value> = {}, isNullable = false): LinkField<Value> => ({
  kind,
  isNullable,
  default: undefined,
  since: 1,
  isCached: true,
  ...rest,
});
const nullable = <Value>(kind: FieldKind, rest: Rest<Value | null> = {}): LinkField<Value | null> =>
  field(kind, { default: null, ...rest }, true);
const choice = <const Value>(choices: readonly Value[], rest: Rest<Value> = {}): LinkField<Value> =>
  field('choice', { choices, ...rest });
const flag = (doc: string, since = 1): LinkField<boolean> & { readonly doc: string } => ({
  ...field('flag', { default: false, since }),
  doc,
});

/** What Terse states about a link. */
const ownFields = {
  code: field<string>('text'),
  /** Null for an anonymous link: only an admin may change it. */
  ownerId: nullable<string>('text', { storedAs: 'owner' }),
  origin: choice(linkOrigins, { storedAs: 'custom' }),
  status: choice(linkStatuses),
  /** Milliseconds since the Unix epoch, like every time here. */
  createdAt: field<number>('time'),
  updatedAt: field<number>('time'),
  /** Human clicks counted against `maxClicks`; stays 0 for a link without a limit. */
  usedClicks: field<number>('count'),
  /** The result of judging the destination; null where no signal fired. */
  risk: nullable<LinkRisk>('risk'),
  /** Grows by one with each change; an edit names the version it saw. */
  version: field<number>('count'),
};

/** What its owner states when creating and editing it; a tombstone has the defaults. */
const statedFields = {
  longUrl: field<string>('text', { default: '' }),
  redirectType: choice(redirectTypes, { default: 302 }),
  title: nullable<string>('text'),
  tags: field<readonly string[]>('texts', { default: [] }),
  expiresAt: nullable<number>('time'),
  /** Human clicks after which the link answers 410; null for no limit. Links with a limit are not cached. */
  maxClicks: nullable<number>('count', { isCached: false }),
  /** Tokens for the statistics are signed with this time, so a new one revokes them all; null while none is valid. */
  statsTokensFrom: nullable<number>('time', { since: 2 }),
};

/** The owner's switches: all that a new one needs here is its row. */
const flags = {
  forwardQuery: flag('Append the visitor’s query to the destination.'),
  publicStats: flag('Whether anyone may see the statistics of the link.'),
};

export const linkFields = { ...ownFields, ...statedFields, ...flags };

type ValueOf<Field> = Field extends LinkField<infer Value> ? Value : never;
type Values<Fields> = { readonly [Name in keyof Fields]: ValueOf<Fields[Name]> };

export type LinkFlags = Values<typeof flags>;
/** The values of the fields that an owner states. */
export type LinkStatement = Values<typeof statedFields> & LinkFlags;
/** A link as its table says; `Link` in link.ts. */
export type LinkValues = Values<typeof ownFields> & LinkStatement;

type Row = readonly [name: keyof LinkValues, field: LinkField];
export const fieldRows = Object.entries(linkFields) as unknown as readonly Row[];
export const statedNames = Object.keys({ ...statedFields, ...flags }) as (keyof LinkStatement)[];
export const flagNames = Object.keys(flags) as (keyof LinkFlags)[];
/** A link's switches alone. */
export const flagsOf = compileObject<LinkFlags, LinkFlags>(flagNames.map(name => ({ name, from: name })));

/** Something for each switch, such as a schema or an option. */
export const forEachFlag = <Made>(
  make: (name: keyof LinkFlags, doc: string) => Made,
): Record<keyof LinkFlags, Made> =>
  Object.fromEntries(flagNames.map(name => [name, make(name, flags[name].doc)])) as Record<
    keyof LinkFlags,
    Made
  >;

/** Fields that older records do not have. */
const laterRows = fieldRows.filter(([, { since }]) => since > 1);

/** The defaults of all fields that an owner states. */
export const unstated = Object.fromEntries(
  statedNames.map(name => [name, linkFields[name].default]),
) as unknown as LinkStatement;

export type Optional<Values> = { readonly [Name in keyof Values]: Values[Name] | undefined };

/** A copy of a statement, or the part of a link that is one. */
const statementOf = compileObject<LinkStatement, Record<string, unknown>>(
  statedNames.map(name => ({ name, from: name })),
);

/** What is stated after a statement about some fields; the others stay as they are. */
export function stated(before: LinkStatement, given: Partial<Optional<LinkStatement>>): LinkStatement {
  const after: Record<string, unknown> = statementOf(before);
  for (const name of statedNames) if (given[name] !== undefined) after[name] = given[name];
  if (given.tags !== undefined) after.tags = [...new Set(given.tags)];
  return after as LinkStatement;
}

/** A record that may be older than some fields, with all of them. */
export function withLaterFields<Record extends object>(record: Record): Record {
  const missing = laterRows.filter(([name]) => !(name in record));
  if (missing.length === 0) return record;
  return { ...record, ...Object.fromEntries(missing.map(([name, field]) => [name, field.default])) };
}

/** The opposite: equal to what a version without them would have written, as long as they have their defaults. */
export function withoutLaterDefaults<Record extends object>(record: Record): Record {
  if (laterRows.length === 0) return record;
  const isDefault = new Map<string, unknown>(laterRows.map(([name, field]) => [name, field.default]));
  const entries = Object.entries(record).filter(
    ([name, value]) => !isDefault.has(name) || isDefault.get(name) !== value,
  );
  return Object.fromEntries(entries) as Record;
}
