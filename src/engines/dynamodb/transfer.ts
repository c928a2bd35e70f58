/**
 * A part of an installation whose items lie anywhere in the table, so that a walk passes over everything and keeps what
 * is the part's (table-walk.ts). What can be listed otherwise should be.
 */
import type { ProgressNotes, Transfer, TransferRecord } from '../../base/transfer.ts';
import type { Dynamo } from './dynamodb.ts';
import type { Key } from './expressions.ts';
import type { TableWalk, WalkedPage, WalkedPart } from './table-walk.ts';

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
  return transferBy(dynamo, scanned, (cursor, limit) => walk.gatheringPage<Row>(scanned, cursor, limit));
}

/** For parts of which there is little among much else. */
export function rareTransfer<Value, Row extends Key>(
  dynamo: Dynamo,
  walk: TableWalk,
  scanned: ScannedPart<Value, Row>,
): Scanned<Value> {
  walk.addRare(scanned);
  return transferBy(dynamo, scanned, (cursor, limit) => walk.rarePage<Row>(scanned, cursor, limit));
}

function transferBy<Value, Row extends Key>(
  dynamo: Dynamo,
  { part, keyOf, recordOf }: ScannedPart<Value, Row>,
  pageOf: (cursor: string | undefined, limit: number) => Promise<WalkedPage<Row>>,
): Scanned<Value> {
  return {
    part,
    async page(cursor, limit) {
      const { items, next } = await pageOf(cursor, limit);
      return { records: items.map(recordOf), next };
    },
    async read(keys) {
      const rows = await dynamo.getMany<Row>(keys.map(keyOf));
      return rows.flatMap(row => (row === undefined ? [] : recordOf(row)));
    },
  };
}

/** What a migration keeps in the table it copies into: its progress, and which runner owns it. */

interface ProgressItem extends Key {
  readonly runner: string;
  readonly progress: string;
}

const progressKey: Key = { pk: 'transfer', sk: 'progress' };

/** Undefined where no migration has ever begun. */
export async function readProgress(dynamo: Dynamo): Promise<string | undefined> {
  return (await dynamo.get<ProgressItem>(progressKey))?.progress;
}

export const progressNotes = (dynamo: Dynamo): ProgressNotes => ({
  load: () => readProgress(dynamo),
  async take(runner, progress) {
    await dynamo.write({ put: { ...progressKey, runner, progress } });
  },
  save: (runner, progress) =>
    dynamo.write({
      update: progressKey,
      expression: 'SET #progress = :progress',
      condition: '#runner = :runner',
      values: { runner, progress },
    }),
});
