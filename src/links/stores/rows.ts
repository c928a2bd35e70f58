/**
 * A link as a row of the SQL engines, by the table of fields. A field is one column: flags are 0 or 1, a choice of texts
 * is its position, lists and risks are JSON, and null where there is nothing to say.
 */
import { compileList, compileObject, type Member } from '../../base/compiled-object.ts';
import { Problem } from '../../base/errors.ts';
import { type FieldKind, fieldRows, type LinkField, linkFields, unstated } from '../fields.ts';
import { type Link, type LinkStatus, linkStatuses } from '../link.ts';
import type { ListFilter } from '../store.ts';

/** The columns that statements name; the others are only read and written as a whole. */
interface LinkColumns {
  readonly code: string;
  readonly owner: string;
  readonly tags: string | null;
  readonly [column: string]: unknown;
}

export interface LinkRow extends LinkColumns {
  readonly id: number;
}

const columnOf = (name: string, { storedAs }: LinkField): string =>
  storedAs ?? name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);

interface Codec {
  readonly encode?: (value: never) => unknown;
  readonly decode?: (value: never) => unknown;
}

/** Anonymous links have the empty owner, so one index serves both kinds. */
export const ownerColumn = (ownerId: string | null): string => ownerId ?? '';

let lastRisk: unknown;
let lastRiskText = '';

/** The links of a call mostly have the same. */
function riskText(risk: unknown): string | null {
  if (risk === null) return null;
  if (risk !== lastRisk) [lastRisk, lastRiskText] = [risk, JSON.stringify(risk)];
  return lastRiskText;
}

const codecOf: Readonly<Partial<Record<FieldKind, (field: LinkField) => Codec>>> = {
  flag: () => ({ encode: (value: boolean) => (value ? 1 : 0), decode: (value: number) => value === 1 }),
  texts: () => ({
    encode: (texts: readonly string[]) => (texts.length === 0 ? null : JSON.stringify(texts)),
    decode: (text: string | null) => (text === null ? [] : JSON.parse(text)),
  }),
  risk: () => ({
    encode: riskText,
    decode: (text: string | null) => (text === null ? null : JSON.parse(text)),
  }),
  choice: ({ choices = [] }) =>
    typeof choices[0] === 'number'
      ? {}
      : {
          encode: (value: string) => choices.indexOf(value),
          // A status that a newer version has added.
          decode: (position: number) => choices[position] ?? 'disabled',
        },
};
const ownerCodec: Codec = { encode: ownerColumn, decode: (owner: string) => (owner === '' ? null : owner) };

const columns = fieldRows.map(([name, field]) => ({
  name,
  field,
  column: columnOf(name, field),
  codec: field === linkFields.ownerId ? ownerCodec : (codecOf[field.kind]?.(field) ?? {}),
}));

export const linkOf = compileObject<LinkRow, Link>(
  columns.map(({ name, column, codec }): Member => ({ name, from: column, by: codec.decode })),
);

const columnsFrom = compileObject<Link, LinkColumns>(
  columns.map(({ name, column, codec }): Member => ({ name: column, from: name, by: codec.encode })),
);

/** With the one column that is not a field. */
export function rowOf(link: Link): LinkColumns {
  return { ...columnsFrom(link), url_hash: urlHash(link.ownerId, link.longUrl) };
}

/** What is written of a link; `id` is given by the database. */
export const writtenColumns = [...columns.map(({ column }) => column), 'url_hash'];
/** With what is written about its code; see `guardsCode`. */
export const insertedColumns = [...writtenColumns, 'guards_code'];

const valuesFrom = compileList<Link, ColumnValue>(
  columns.map(({ name, codec }) => ({ from: name, by: codec.encode })),
);

export type ColumnValue = string | number | null;

/** The values of a new link, in the order of `insertedColumns`. */
export function insertedValues(link: Link, isProtected: boolean): ColumnValue[] {
  const values = valuesFrom(link);
  values.push(urlHash(link.ownerId, link.longUrl), guardsCode(isProtected));
  return values;
}

/** A click may be counted between an edit's read and its write, so an edit does not touch `used_clicks`. */
const unedited = new Set(['code', 'owner', 'custom', 'created_at', 'used_clicks']);
export const editedColumns = writtenColumns.filter(column => !unedited.has(column));

/** 1 where neither a lease nor a claim protects a generated code: its row must outlive the link. */
export const guardsCode = (isProtected: boolean): 0 | 1 => (isProtected ? 0 : 1);

export const statusNumber = (status: LinkStatus): number => linkStatuses.indexOf(status);

function defaultOf({ field, codec }: (typeof columns)[number]): string {
  const value = codec.encode === undefined ? field.default : codec.encode(field.default as never);
  if (value === null || value === undefined) return 'NULL';
  return typeof value === 'string' ? `'${value}'` : String(value);
}

/** Assignments that turn a row into a tombstone, as `tombstoneOf` does. */
export const erasing = [
  ...columns
    .filter(({ name }) => name === 'risk' || name in unstated)
    .map(each => `${each.column} = ${defaultOf(each)}`),
  'url_hash = 0',
  `status = ${statusNumber('deleted')}`,
  'version = version + 1',
].join(', ');

/** Whether a column holds text; any other holds whole numbers. */
export const isText = (kind: FieldKind): boolean => kind === 'text' || kind === 'texts' || kind === 'risk';

export const kindOfColumn = (name: string): FieldKind | undefined =>
  columns.find(({ column }) => column === name)?.field.kind;

/** Columns of fields that tables of older versions lack; constant defaults make adding them quick. */
export const laterColumns = (typeOf: (kind: FieldKind) => string): { name: string; definition: string }[] =>
  columns
    .filter(({ field }) => field.since > 1)
    .map(each => {
      const value = defaultOf(each);
      const constraint = value === 'NULL' ? '' : ` NOT NULL DEFAULT ${value}`;
      return { name: each.column, definition: `${typeOf(each.field.kind)}${constraint}` };
    });

export const tagsIn = (tags: string | null | undefined): string[] =>
  tags === null || tags === undefined ? [] : (JSON.parse(tags) as string[]);

/**
 * 52 bits of SHA-256 over owner and URL: an integer key a fifth the size of the average URL. Readers compare
 * the URL itself afterwards, so a collision costs a row read and nothing else.
 */
export function urlHash(ownerId: string | null, longUrl: string): number {
  // The runtime's own, without the megabytes that `node:crypto` takes in each thread.
  Bun.SHA256.hash(`${ownerColumn(ownerId)}\n${longUrl}`, digest);
  return digestStart.getUint32(0) * 2 ** 20 + (digestStart.getUint32(4) >>> 12);
}

const digest = new Uint8Array(32);
const digestStart = new DataView(digest.buffer);

/** A list cursor is a row number in base 36: short, URL-safe, and readable in a log. */
export const cursorOf = (rowId: number): string => rowId.toString(36);

export function rowIdOf(cursor: string): number {
  const rowId = /^[0-9a-z]{1,10}$/.test(cursor) ? Number.parseInt(cursor, 36) : Number.NaN;
  if (Number.isSafeInteger(rowId)) return rowId;
  throw new Problem('invalid_request', {
    detail: 'This cursor is not valid.',
    fields: { field: 'cursor' },
  });
}

/** States that few links have. */
export const heldOrDisabled = ['disabled', 'quarantined', 'blocked'] as const;

/** The stored status of a state, where time and clicks do not affect it. */
export function storedStatusOf({ state }: ListFilter): number | undefined {
  const stored = heldOrDisabled.find(each => each === state);
  return stored && statusNumber(stored);
}
