/**
 * Entries by which an owner's links are found by tag, and by a status that few have. They are no part of the link's
 * transaction: entries are written before the link and removed after it, and a reader looks at the record before it
 * believes one. So a crash in between leaves an entry too many, which costs a read, and never one too few.
 */
import type { Dynamo, Item } from '../../../engines/dynamodb/dynamodb.ts';
import type { Link, LinkStatus } from '../../link.ts';
import { labelPk } from './keys.ts';
import { ttlOf } from './rows.ts';

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

/** For a link that was not written after all, or is gone; what fails here is only looked at in vain now and then. */
export async function removeLabels(dynamo: Dynamo, labelled: LabelledLink): Promise<void> {
  const entries = entriesOf(labelled);
  if (entries.length === 0) return;
  await dynamo.batchWrite(entries.map(remove => ({ remove }))).catch(() => {});
}

/** Before an edit: whatever the link will be found by and is not yet, or not for as long. */
export async function addLabels(dynamo: Dynamo, before: LabelledLink, after: LabelledLink): Promise<void> {
  const present = new Map(entriesOf(before).map(entry => [entry.pk, entry]));
  const missing = entriesOf(after).filter(({ pk, ttl }) => {
    const entry = present.get(pk);
    return entry === undefined || lastsLonger(ttl, entry.ttl);
  });
  await Promise.all(missing.map(entry => putEntry(dynamo, entry)));
}

/** After an edit: whatever the link is not found by any more, or not for as long. */
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

/** An entry bears the version it was written for: a slow edit must not undo what a later one has written. */
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
