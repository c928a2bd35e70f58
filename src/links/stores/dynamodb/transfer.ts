/**
 * The link store of DynamoDB as parts of a migration. Nobody else writes to a target, so its writes need no conditions;
 * each is made so that it can be cut off anywhere and be made again.
 */
import { createHash } from 'node:crypto';
import { columnsOf, type Transfer, type TransferRecord } from '../../../base/transfer.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { Key } from '../../../engines/dynamodb/expressions.ts';
import { rareTransfer, scanTransfer } from '../../../engines/dynamodb/scan-transfer.ts';
import type { TableWalk } from '../../../engines/dynamodb/table-walk.ts';
import type { Link } from '../../link.ts';
import {
  type AnswerCopy,
  answerKey as answerName,
  type InstallationCopy,
  type LinkCopy,
  type LinkTransfers,
  linkCopy,
  linkOfCopy,
  type MarkCopy,
  markKey,
  secretName,
} from '../../transfer.ts';
import { claimsTransfer } from './claims-transfer.ts';
import { answerKey, linkKey, Places, rangeKey, secretKey } from './keys.ts';
import { entriesOf, type LabelledLink } from './labels.ts';
import { readSpans } from './ranges.ts';
import { itemOf, type LinkRow, linkOf, secondsOf } from './rows.ts';

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
 * Copied links do not say when the engine may drop them: how long an expired link is kept is the server's setting, and
 * its sweep sees to those that the engine leaves.
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
    // Looking for what is replaced would cost as much as writing; an entry too many is only looked at in vain.
    async write(records) {
      const after = records.map(({ value }) => labelled(value));
      // What links are found by comes before them: cut off here, they still differ, and are written again.
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

interface AnswerRow extends Key {
  readonly owner: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly createdAt: number;
  readonly outcome: AnswerCopy['outcome'];
  readonly link: string;
}

/** Answers are given for a day; the engine drops them some time after that. */
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
          link: JSON.parse(link) as Link,
        };
        return { key: answerName(copy), value: copy };
      },
    }),
    async write(records) {
      await dynamo.batchWrite(
        records.map(({ value: { ownerId, key, fingerprint, createdAt, outcome, link } }) => ({
          put: {
            ...answerKey(ownerId, key),
            owner: ownerId,
            key,
            fingerprint,
            createdAt,
            outcome,
            link: JSON.stringify(link),
            ttl: secondsOf(createdAt + answersKeptMs),
          },
        })),
      );
    },
    remove: keys => dynamo.batchWrite(keys.map(key => ({ remove: keyOf(key) }))),
  };
}
