/**
 * Links in DynamoDB: one table, a link alone in its partition, everything else beside it under its own keys (keys.ts).
 * `find` reads the newest state; `findNear` one that may be a moment old, for half the price.
 */
import { BatchedReads } from '../../../base/batched-reads.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import { batchGetMax, type Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import { isNew } from '../../../engines/dynamodb/expressions.ts';
import type { Link } from '../../link.ts';
import type { LinkStore } from '../../store.ts';
import { purgeExpired, replaceLink, useClick } from './edit.ts';
import { ChangeReader, ChangeWriter, readEvents } from './feed.ts';
import { insertLinks, type WriteContext } from './insert.ts';
import { eventKey, linkKey, linkKeyAt, Places, secretKey } from './keys.ts';
import { countLinks, listByDomain, listLinks } from './list.ts';
import { findSameUrl, recall } from './lookups.ts';
import { leaseRange, readClaims, readSpans } from './ranges.ts';
import { type LinkRow, linkOf } from './rows.ts';

export interface DynamoStoreOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly traceWrites: WriteContext['traceWrites'];
  /** How long an expired link is kept before the engine may drop it. */
  readonly expiryGraceMs: number;
  /** How long the engine has to do so, before the sweep does it. */
  readonly engineTimeoutMs?: number;
}

/** The engine documents that it drops expired items within two days. */
const engineTimeoutMsDefault = 4 * 24 * 60 * 60 * 1_000;

export function createDynamoStore(dynamo: Dynamo, options: DynamoStoreOptions): LinkStore {
  const { clock, random, engineTimeoutMs = engineTimeoutMsDefault, ...rest } = options;
  const context: WriteContext = {
    ...rest,
    dynamo,
    clock,
    random,
    places: new Places(random),
    changes: new ChangeWriter(dynamo, clock),
  };
  const feed = new ChangeReader(dynamo, clock);
  const purge = { engineTimeoutMs, expiryGraceMs: options.expiryGraceMs };

  const batched = (near: boolean) =>
    new BatchedReads<LinkRow>({
      clock,
      keysMax: batchGetMax,
      deadlineMs: dynamo.readDeadlineMs,
      read: (partitions, deadlineMs) =>
        dynamo.getBatch<LinkRow>(partitions.map(linkKeyAt), { near, deadlineMs }),
    });
  const [finds, nearFinds] = [batched(false), batched(true)];
  const find = async (reads: BatchedReads<LinkRow>, code: string): Promise<Link | undefined> => {
    const row = await reads.get(linkKey(code).pk);
    return row && linkOf(row);
  };

  return {
    find: code => find(finds, code),
    findNear: code => find(nearFinds, code),
    insert: items => insertLinks(context, items),
    replace: (link, trace, event) => replaceLink(context, link, trace, event),
    useClick: (code, at) => useClick(context, code, at),
    recall: record => recall(dynamo, record),

    findByUrl: async (ownerId, longUrl, now) => (await findSameUrl(dynamo, ownerId, longUrl, now)).found,
    list: query => listLinks(dynamo, query),
    count: query => countLinks(dynamo, query),
    listByDomain: query => listByDomain(dynamo, query),

    leaseRange: (length, size, limit, first = 0) => leaseRange(dynamo, length, { size, limit, first }),
    spans: length => readSpans(dynamo, length),
    claims: length => readClaims(dynamo, length),

    changes: (afterSeq, limit) => feed.read(afterSeq, limit),

    events: (afterSeq, limit) => readEvents(dynamo, afterSeq, limit),
    removeEvents: seqs => dynamo.batchWrite(seqs.map(seq => ({ remove: eventKey(seq) }))),

    purgeExpired: (expiredBefore, limit) => purgeExpired(dynamo, purge, expiredBefore, limit),
    // Answers are left to the engine, which drops them at no cost.
    prune: ({ changesBefore }, limit) => feed.prune(changesBefore, limit),

    async installationSecret(candidate) {
      await dynamo.write({ put: { ...secretKey, value: candidate }, condition: isNew });
      return (await dynamo.get<{ value: Uint8Array }>(secretKey))!.value;
    },
    async close() {
      dynamo.close();
    },
  };
}
