/**
 * A part of an installation whose items lie anywhere in the table, so that a walk passes over everything and keeps what
 * is the part's (table-walk.ts). What can be listed otherwise should be.
 */
import type { Transfer, TransferRecord } from '../../base/transfer.ts';
import type { Dynamo } from './dynamodb.ts';
import type { Key } from './expressions.ts';
import type { TableWalk, WalkedPart } from './table-walk.ts';

export interface ScannedPart<Value, Row> extends WalkedPart {
  readonly keyOf: (key: string) => Key;
  readonly recordOf: (row: Row) => TransferRecord<Value>;
}

type Scanned<Value> = Pick<Transfer<Value>, 'part' | 'page' | 'read'>;

/** For the part that most of the table is. */
export function scanTransfer<Value, Row extends Key>(
  dynamo: Dynamo,
  walk: TableWalk,
  scanned: ScannedPart<Value, Row>,
): Scanned<Value> {
  return {
    part: scanned.part,
    async page(cursor, limit) {
      const { items, next } = await walk.gatheringPage<Row>(scanned, cursor, limit);
      return { records: items.map(scanned.recordOf), next };
    },
    read: readerOf(dynamo, scanned),
  };
}

/** For parts of which there is little among much else. */
export function rareTransfer<Value, Row extends Key>(
  dynamo: Dynamo,
  walk: TableWalk,
  scanned: ScannedPart<Value, Row>,
): Scanned<Value> {
  walk.addRare(scanned);
  return {
    part: scanned.part,
    async page(cursor, limit) {
      const { items, next } = await walk.rarePage<Row>(scanned, cursor, limit);
      return { records: items.map(scanned.recordOf), next };
    },
    read: readerOf(dynamo, scanned),
  };
}

function readerOf<Value, Row extends Key>(
  dynamo: Dynamo,
  { keyOf, recordOf }: ScannedPart<Value, Row>,
): Transfer<Value>['read'] {
  return async keys => {
    const rows = await dynamo.getMany<Row>(keys.map(keyOf));
    return rows.flatMap(row => (row === undefined ? [] : recordOf(row)));
  };
}
