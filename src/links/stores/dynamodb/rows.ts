/**
 * A link as an item, by the table of fields. Fields with their default value are left out: with billions of items every
 * byte is paid for. The attributes that end in `Key` put the item into an index; a link that an index should not show
 * does not carry them.
 */
import { compileObject, type Member } from '../../../base/compiled-object.ts';
import type { Dynamo, Item } from '../../../engines/dynamodb/dynamodb.ts';
import { fieldRows, type LinkField } from '../../fields.ts';
import type { Link, LinkStatus } from '../../link.ts';
import { type AfterExpiry, codeOf, expiryKey, labelPk, linkKey, ownerKey, siteKey, urlKey } from './keys.ts';

/** The attributes that are used by name; the other fields are only read and written as a whole. */
export interface LinkRow {
  readonly pk: string;
  readonly sk: string;
  readonly place: string;
  readonly version: number;
  readonly status: LinkStatus;
  /** Absent for a tombstone. */
  readonly url?: string;
  /** Neither a lease nor a claim protects the code: the item must outlive the link. */
  readonly guards?: true;
  readonly expiresAt?: number;
  readonly usedClicks: number;
  /** Remaining clicks of `maxClicks`: a condition can compare an attribute with a value, not with a difference. */
  readonly clicksLeft?: number;
}

interface RowOptions {
  readonly place: string;
  readonly guards: boolean;
  /** How long after its expiry the engine may drop the item; see `ttlOf`. */
  readonly expiryGraceMs: number;
}

interface Codec {
  readonly encode?: (value: never) => unknown;
  readonly decode?: (value: never) => unknown;
}

function codecOf(name: string, field: LinkField): Codec {
  const { kind, default: absent } = field;
  if (name === 'origin') {
    return {
      encode: (origin: Link['origin']) => origin === 'custom' || undefined,
      decode: (custom: true | undefined) => (custom === true ? 'custom' : 'generated'),
    };
  }
  // Null represents an empty title: engines from before 2020 store no empty text.
  if (name === 'title') {
    return {
      encode: (title: string | null) => (title === null ? undefined : title === '' ? null : title),
      decode: (title: string | null | undefined) => (title === undefined ? null : (title ?? '')),
    };
  }
  if (absent === undefined) return {};
  const isAbsent =
    kind === 'texts'
      ? (value: readonly string[]) => value.length === 0
      : (value: unknown) => value === absent;
  return {
    encode: (value: never) => (isAbsent(value) ? undefined : value),
    decode: (value: unknown) => value ?? absent,
  };
}

const attributes = fieldRows
  .filter(([name]) => name !== 'code')
  .map(([name, field]) => ({
    name,
    attribute: name === 'longUrl' ? 'url' : (field.storedAs ?? name),
    codec: codecOf(name, field),
  }));

const members = (names: (name: keyof Link) => boolean): Member[] =>
  attributes
    .filter(({ name }) => names(name))
    .map(({ name, attribute, codec }) => ({ name: attribute, from: name, by: codec.encode }));

export const linkOf = compileObject<LinkRow, Link>([
  { name: 'code', from: 'pk', by: (pk: string) => codeOf({ pk }) },
  ...attributes.map(({ name, attribute, codec }): Member => ({ name, from: attribute, by: codec.decode })),
]);

/** Written once. Clicks may be counted between an edit's read and its write, so it does not touch those. */
const unedited: ReadonlySet<keyof Link> = new Set(['ownerId', 'origin', 'createdAt', 'usedClicks']);
const fixedFields = compileObject<Link, Item>(members(name => unedited.has(name)));
const editedFields = compileObject<Link, Item>(members(name => !unedited.has(name)));

export function itemOf(link: Link, options: RowOptions): Item {
  return {
    ...fixedFields(link),
    ...editableAttributes(link, options),
    ...linkKey(link.code),
    place: options.place,
    guards: options.guards || undefined,
    clicksLeft: link.maxClicks === null ? undefined : link.maxClicks - link.usedClicks,
  };
}

/** What an edit writes. */
export function editableAttributes(
  link: Link,
  { guards, expiryGraceMs }: Omit<RowOptions, 'place'>,
): Readonly<Record<string, unknown>> {
  const { code, ownerId, longUrl, status, expiresAt } = link;
  return {
    ...editedFields(link),
    ownerKey: status === 'deleted' ? undefined : ownerKey(ownerId, code),
    urlKey: status === 'active' ? urlKey(ownerId, longUrl) : undefined,
    siteKey: siteKey(longUrl, code),
    expiryKey: expiresAt === null ? undefined : expiryKey(fateOf(link, guards), code),
    ttl: ttlOf(link, guards, expiryGraceMs),
  };
}

const fateOf = ({ origin }: Pick<Link, 'origin'>, guards: boolean): AfterExpiry =>
  origin === 'custom' || guards ? 'emptied' : 'removed';

/**
 * When the engine may drop the item itself. Only items that can be lost safely carry this: an expired link whose code
 * stays protected by the mark or its claim. The sweeper turns all others into tombstones.
 */
export function ttlOf(link: Link, guards: boolean, expiryGraceMs: number): number | undefined {
  if (link.expiresAt === null || fateOf(link, guards) === 'emptied') return undefined;
  return secondsOf(link.expiresAt + expiryGraceMs);
}

export const secondsOf = (timeMs: number): number => Math.ceil(timeMs / 1_000);

/**
 * Entries by which an owner's links are found by tag, and by a rare status. They are not part of the link's
 * transaction: entries are written before the link and removed after it, and a reader checks the record before it
 * trusts one. So a crash in between leaves an extra entry, which costs a read, and never a missing one.
 */
export interface LabelledLink {
  readonly link: Link;
  readonly place: string;
  readonly guards: boolean;
  readonly expiryGraceMs: number;
}

export const tagLabel = (tag: string): string => `t${tag}`;
export const statusLabel = (status: LinkStatus): string => `s${status}`;

export async function writeLabels(dynamo: Dynamo, labelled: LabelledLink): Promise<void> {
  const entries = entriesOf(labelled);
  if (entries.length > 0) await dynamo.batchWrite(entries.map(put => ({ put })));
}

/**
 * For a link that was not written after all, or is deleted; an entry that cannot be removed only costs a useless read.
 */
export async function removeLabels(dynamo: Dynamo, labelled: LabelledLink): Promise<void> {
  const entries = entriesOf(labelled);
  if (entries.length === 0) return;
  await dynamo.batchWrite(entries.map(remove => ({ remove }))).catch(() => {});
}

/** Before an edit: adds the entries that the link will need and does not have yet, or not for as long. */
export async function addLabels(dynamo: Dynamo, before: LabelledLink, after: LabelledLink): Promise<void> {
  const present = new Map(entriesOf(before).map(entry => [entry.pk, entry]));
  const missing = entriesOf(after).filter(({ pk, ttl }) => {
    const entry = present.get(pk);
    return entry === undefined || lastsLonger(ttl, entry.ttl);
  });
  await Promise.all(missing.map(entry => putEntry(dynamo, entry)));
}

/** After an edit: removes the entries that the link no longer needs, or not for as long. */
export async function dropLabels(dynamo: Dynamo, before: LabelledLink, after: LabelledLink): Promise<void> {
  const kept = new Map(entriesOf(after).map(entry => [entry.pk, entry]));
  const writes = entriesOf(before).map(entry => {
    const next = kept.get(entry.pk);
    if (next === undefined) return removeEntry(dynamo, entry, after.link.version);
    return lastsLonger(entry.ttl, next.ttl) ? putEntry(dynamo, next) : undefined;
  });
  await Promise.all(writes).catch(() => {});
}

type LabelEntry = Item & { readonly version: number; readonly ttl: number | undefined };

export function entriesOf({ link, place, guards, expiryGraceMs }: LabelledLink): LabelEntry[] {
  const { code, ownerId, status, tags, version } = link;
  const labels = status === 'deleted' ? [] : tags.map(tagLabel);
  if (status !== 'active' && status !== 'deleted') labels.push(statusLabel(status));
  const ttl = ttlOf(link, guards, expiryGraceMs);
  return [...new Set(labels)].map(label => ({
    pk: labelPk(ownerId, label, code),
    sk: place,
    version,
    ttl,
  }));
}

/** An entry carries the version it was written for: a slow edit must not undo a later one. */
const putEntry = (dynamo: Dynamo, put: LabelEntry) =>
  dynamo.write({
    put,
    condition: {
      expression: 'attribute_not_exists(#version) OR #version <= :version',
      values: { version: put.version },
    },
  });

const removeEntry = (dynamo: Dynamo, remove: LabelEntry, version: number) =>
  dynamo.write({ remove, condition: { expression: '#version <= :version', values: { version } } });

const lastsLonger = (ttl: number | undefined, than: number | undefined): boolean =>
  than !== undefined && (ttl === undefined || ttl > than);
