/** What the transfers of links from and to SQL engines share. */
import type { ColumnValue, TransferRecord, TransferredTable } from '../../base/transfer.ts';
import type { Claim } from '../store.ts';
import {
  type AnswerCopy,
  type InstallationCopy,
  type LinkCopy,
  linkCopy,
  linkOfCopy,
  type MarkCopy,
} from '../transfer.ts';
import { guardsCode, type LinkRow, linkOf, rowOf } from './rows.ts';

export const marksTable: TransferredTable<MarkCopy, MarkCopy> = {
  part: 'marks',
  table: 'ranges',
  key: ['length', 'first'],
  columns: ['length', 'first', 'mark'],
  raised: ['mark'],
  rowOf: copy => ({ ...copy }),
  valueOf: ({ length, first, mark }) => ({ length, first, mark }),
};

export const claimsTable: TransferredTable<Claim, Claim> = {
  part: 'claims',
  table: 'claims',
  key: ['length', 'id'],
  columns: ['length', 'id'],
  rowOf: claim => ({ ...claim }),
  valueOf: ({ length, id }) => ({ length, id }),
};

/** `bytesOf` is how the engine is given bytes that are written in hex. */
export const installationTable = (
  bytesOf: (hex: string) => ColumnValue,
): TransferredTable<InstallationCopy, { name: string; value: Uint8Array }> => ({
  part: 'installation',
  table: 'installation',
  key: ['name'],
  columns: ['name', 'value'],
  rowOf: ({ name, value }) => ({ name, value: bytesOf(value) }),
  valueOf: ({ name, value }) => ({ name, value: value.toHex() }),
});

type Answered = Pick<AnswerCopy, 'outcome' | 'link'>;
interface AnswerRow {
  readonly owner: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly created_at: number;
}

/** `columns` hold what was answered, which engines keep differently. */
export const answersTable = <Row extends object>(
  columns: readonly string[],
  rowOfAnswer: (answered: Answered) => Record<string, string>,
  answerOf: (row: Row) => Answered,
): TransferredTable<AnswerCopy, AnswerRow & Row> => ({
  part: 'answers',
  table: 'idempotency',
  key: ['owner', 'key'],
  columns: ['owner', 'key', 'fingerprint', 'created_at', ...columns],
  rowOf: ({ ownerId, key, fingerprint, createdAt, ...answered }) => ({
    owner: ownerId,
    key,
    fingerprint,
    created_at: createdAt,
    ...rowOfAnswer(answered),
  }),
  valueOf: row => ({
    ownerId: row.owner,
    key: row.key,
    fingerprint: row.fingerprint,
    createdAt: row.created_at,
    ...answerOf(row),
  }),
});

export type CopiedRow = LinkRow & { readonly guards_code: number };

export const recordOf = (row: CopiedRow): TransferRecord<LinkCopy> => ({
  key: row.code,
  value: linkCopy(linkOf(row), row.guards_code === 0),
});

/** A link that is there already keeps the number of its row. */
export const copiedRow = (copy: LinkCopy, id: number): CopiedRow => ({
  ...rowOf(linkOfCopy(copy)),
  id,
  guards_code: guardsCode(copy.isProtected),
});

/*
 * Lists are ordered by row number, so each copied link gets one that represents its time of creation: in whatever order
 * links arrive, the newest are listed first, and later links follow.
 */

/** No link is older. Numbers stay within the range of a list cursor until 2082. */
const firstMs = Date.UTC(2026, 0, 1);
const numbersPerMs = 2_048;

export interface NumberBlock {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/** `lastIn` returns the highest number taken in each of the blocks, null where there is none. */
export async function rowNumbersFor(
  createdAts: readonly number[],
  lastIn: (blocks: readonly NumberBlock[]) => Promise<(number | null)[]>,
): Promise<number[]> {
  const nextOf = new Map<number, number>();
  const learn = async (starts: readonly number[]): Promise<void> => {
    const blocks = starts.map(start => ({ start, end: start + numbersPerMs }));
    const lasts = await lastIn(blocks);
    for (const [index, { start }] of blocks.entries()) nextOf.set(start, (lasts[index] ?? start - 1) + 1);
  };
  const starts = createdAts.map(createdAt => Math.max(0, createdAt - firstMs) * numbersPerMs);
  await learn([...new Set(starts)]);
  const numbers: number[] = [];
  for (const wanted of starts) {
    let start = wanted;
    // A bulk call creates more links than its millisecond has numbers: it continues in the next.
    while (nextOf.get(start)! >= start + numbersPerMs) {
      start += numbersPerMs;
      if (!nextOf.has(start)) await learn([start]);
    }
    const number = nextOf.get(start)!;
    nextOf.set(start, number + 1);
    numbers.push(number);
  }
  return numbers;
}
