/**
 * The link store of DynamoDB as parts of a migration. No other process writes to a target, so its writes need no
 * conditions; each can be interrupted anywhere and repeated.
 */
import { createHash } from 'node:crypto';
import { columnsOf, type Transfer, type TransferRecord } from '../../../base/transfer.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { Key } from '../../../engines/dynamodb/expressions.ts';
import type { StartKey } from '../../../engines/dynamodb/queries.ts';
import type { TableWalk } from '../../../engines/dynamodb/table-walk.ts';
import { rareTransfer, scanTransfer } from '../../../engines/dynamodb/transfer.ts';
import { withLaterFields } from '../../fields.ts';
import type { Link } from '../../link.ts';
import type { Claim } from '../../store.ts';
import {
  type AnswerCopy,
  answerKey as answerName,
  claimKey,
  type InstallationCopy,
  type LinkCopy,
  type LinkTransfers,
  linkCopy,
  linkOfCopy,
  type MarkCopy,
  markKey,
  secretName,
} from '../../transfer.ts';
import {
  answerKey,
  bucketKey,
  bucketOf,
  claimPartitions,
  linkKey,
  Places,
  rangeKey,
  secretKey,
} from './keys.ts';
import { type AnswerRow, answerRow } from './lookups.ts';
import { readSpans } from './ranges.ts';
import { entriesOf, itemOf, type LabelledLink, type LinkRow, linkOf } from './rows.ts';

export const dynamoLinkTransfers = (dynamo: Dynamo, walk: TableWalk): LinkTransfers => ({
  installation: installationTransfer(dynamo),
  marks: marksTransfer(dynamo),
  claims: claimsTransfer(dynamo),
  links: linksTransfer(dynamo, walk),
  answers: answersTransfer(dynamo, walk),
});

function installationTransfer(dynamo: Dynamo): Transfer<InstallationCopy> {
  const read = async (): Promise<TransferRecord<InstallationCopy>[]> => {
    const row = await dynamo.get<{ value: Uint8Array }>(secretKey);
    return row === undefined
      ? []
      : [{ key: secretName, value: { name: secretName, value: row.value.toHex() } }];
  };
  return {
    part: 'installation',
    page: async () => ({ records: await read(), next: undefined }),
    read: async keys => (keys.includes(secretName) ? read() : []),
    async write(records) {
      await dynamo.batchWrite(
        records.map(({ value }) => ({ put: { ...secretKey, value: Uint8Array.fromHex(value.value) } })),
      );
    },
    async remove(keys) {
      if (keys.length > 0) await dynamo.write({ remove: secretKey });
    },
  };
}

/** No generated code is longer. */
const lengthMax = 12;
const lengths = Array.from({ length: lengthMax }, (_, index) => index + 1);

function marksTransfer(dynamo: Dynamo): Transfer<MarkCopy> {
  const placeOf = (key: string): Key => {
    const [length, first] = columnsOf(key) as [number, number];
    return rangeKey(length, first);
  };
  const all = async (): Promise<TransferRecord<MarkCopy>[]> => {
    const spans = await Promise.all(
      lengths.map(async length => (await readSpans(dynamo, length)).map(span => ({ length, ...span }))),
    );
    return spans.flat().map(copy => ({ key: markKey(copy), value: copy }));
  };
  return {
    part: 'marks',
    page: async () => ({ records: await all(), next: undefined }),
    read: async keys => (await all()).filter(({ key }) => keys.includes(key)),
    async write(records) {
      for (const { value } of records) {
        await dynamo.write({
          update: rangeKey(value.length, value.first),
          expression: 'SET #mark = :mark',
          condition: 'attribute_not_exists(#mark) OR #mark < :mark',
          values: { mark: value.mark },
        });
      }
    },
    remove: keys => dynamo.batchWrite(keys.map(key => ({ remove: placeOf(key) }))),
  };
}

/**
 * Copied links do not carry an expiry for the engine: how long an expired link is kept is the server's setting, and its
 * sweep removes those that the engine leaves.
 */
const expiryGraceMs = 100 * 365 * 24 * 60 * 60 * 1_000;

function linksTransfer(dynamo: Dynamo, walk: TableWalk): Transfer<LinkCopy> {
  const removeEntries = (copies: readonly LinkCopy[]): Promise<void> =>
    dynamo.batchWrite(
      copies
        .map(labelled)
        .flatMap(entriesOf)
        .map(remove => ({ remove })),
    );

  return {
    ...scanTransfer<LinkCopy, LinkRow>(dynamo, walk, {
      part: 'links',
      prefix: 'l#',
      keyOf: linkKey,
      recordOf: row => ({ key: linkOf(row).code, value: copyOf(row) }),
    }),
    // Looking up the replaced entries would cost as much as writing; an extra entry only costs a useless read.
    async write(records) {
      const after = records.map(({ value }) => labelled(value));
      // Entries are written before their links: after an interruption here the links still differ, and are written
      // again.
      await removeEntries(records.flatMap(({ before }) => before ?? []));
      await dynamo.batchWrite(after.flatMap(entriesOf).map(put => ({ put })));
      await dynamo.batchWrite(after.map(each => ({ put: itemOf(each.link, each) })));
    },
    async remove(codes) {
      const rows = await dynamo.getMany<LinkRow>(codes.map(linkKey));
      await removeEntries(rows.flatMap(row => (row === undefined ? [] : copyOf(row))));
      await dynamo.batchWrite(codes.map(code => ({ remove: linkKey(code) })));
    },
  };
}

const copyOf = (row: LinkRow): LinkCopy => linkCopy(linkOf(row), row.guards !== true);

/** A link has the same place however often it is copied, so that nothing is listed twice. */
function labelled(copy: LinkCopy): LabelledLink {
  const link = linkOfCopy(copy);
  const digest = createHash('sha256').update(link.code).digest();
  const places = new Places({ float: () => digest.readUInt32BE() / 2 ** 32, bytes: () => digest });
  return { link, place: places.take(link.createdAt, link.code), guards: !copy.isProtected, expiryGraceMs };
}

/** Answers are replayed for a day; the engine drops them some time after that. */
const answersKeptMs = 2 * 24 * 60 * 60 * 1_000;

function answersTransfer(dynamo: Dynamo, walk: TableWalk): Transfer<AnswerCopy> {
  const keyOf = (name: string): Key => {
    const [ownerId, key] = columnsOf(name) as [string, string];
    return answerKey(ownerId, key);
  };
  return {
    ...rareTransfer<AnswerCopy, AnswerRow>(dynamo, walk, {
      part: 'answers',
      prefix: 'answer#',
      keyOf,
      recordOf: ({ owner, key, fingerprint, createdAt, outcome, link }) => {
        const copy = {
          ownerId: owner,
          key,
          fingerprint,
          createdAt,
          outcome,
          link: withLaterFields(JSON.parse(link) as Link),
        };
        return { key: answerName(copy), value: copy };
      },
    }),
    async write(records) {
      await dynamo.batchWrite(
        records.map(({ value }) => ({
          put: answerRow(value, value.outcome, value.link, value.createdAt + answersKeptMs),
        })),
      );
    },
    remove: keys => dynamo.batchWrite(keys.map(key => ({ remove: keyOf(key) }))),
  };
}

interface BucketRow extends Key {
  readonly ids?: ReadonlySet<number>;
  readonly closedTo?: number;
}

/** Every length that a generated code can have. */
const claimLengths = [6, 7, 8, 9, 10, 11, 12];

/** The progress of a walk: the partitions of one length at a time, in parallel, without those that are finished. */
interface Place {
  readonly length: number;
  readonly left: readonly { readonly pk: string; readonly start?: StartKey | undefined }[];
}

const beginningOf = (length: number): Place => ({
  length,
  left: claimPartitions(length).map(pk => ({ pk })),
});

/**
 * Claims of ids as a part of a migration. They are kept in buckets, which leases close: ids in a bucket below that
 * point are leased and no longer claims. A mark that was copied from elsewhere closes no bucket.
 */
function claimsTransfer(dynamo: Dynamo): Transfer<Claim> {
  const claimOf = (key: string): Claim => {
    const [length, id] = columnsOf(key) as [number, number];
    return { length, id };
  };
  const change = async (claims: readonly Claim[], verb: 'ADD' | 'DELETE'): Promise<void> => {
    const byBucket = Map.groupBy(claims, ({ length, id }) => JSON.stringify(bucketKey(length, bucketOf(id))));
    for (const [key, ofBucket] of byBucket) {
      await dynamo.write({
        update: JSON.parse(key) as Key,
        expression: `${verb} #ids :ids`,
        values: { ids: new Set(ofBucket.map(({ id }) => id)) },
      });
    }
  };

  return {
    part: 'claims',
    async page(cursor, limit) {
      const { length, left }: Place =
        cursor === undefined ? beginningOf(claimLengths[0]!) : JSON.parse(cursor);
      const each = Math.ceil(limit / left.length);
      const pages = await Promise.all(
        left.map(({ pk, start }) => dynamo.query<BucketRow>({ pk, limit: each, start })),
      );
      const records = pages.flatMap(({ items }) => items.flatMap(row => liveClaims(length, row)));
      const rest = pages.flatMap(({ next }, index) =>
        next === undefined ? [] : { pk: left[index]!.pk, start: next },
      );
      if (rest.length > 0) return { records, next: JSON.stringify({ length, left: rest } satisfies Place) };
      const following = claimLengths[claimLengths.indexOf(length) + 1];
      return { records, next: following === undefined ? undefined : JSON.stringify(beginningOf(following)) };
    },
    async read(keys) {
      const claims = keys.map(claimOf);
      const names = new Set(claims.map(({ length, id }) => JSON.stringify([length, bucketOf(id)])));
      const buckets = Array.from(names, name => JSON.parse(name) as [number, number]);
      const rows = await dynamo.getMany<BucketRow>(
        buckets.map(([length, bucket]) => bucketKey(length, bucket)),
      );
      const wanted = new Set(keys);
      return rows
        .flatMap((row, index) => (row === undefined ? [] : liveClaims(buckets[index]![0], row)))
        .filter(({ key }) => wanted.has(key));
    },
    write: records =>
      change(
        records.map(({ value }) => value),
        'ADD',
      ),
    remove: keys => change(keys.map(claimOf), 'DELETE'),
  };
}

function liveClaims(length: number, { ids = new Set(), closedTo = 0 }: BucketRow): TransferRecord<Claim>[] {
  return [...ids]
    .filter(id => id >= closedTo)
    .map(id => ({ key: claimKey({ length, id }), value: { length, id } }));
}
