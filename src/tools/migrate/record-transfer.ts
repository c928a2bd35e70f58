/** All records as one part of a migration, whatever their kinds. A target computes their places in indexes. */
import { inParallel } from '../../base/in-parallel.ts';
import { columnsOf, compositeKey, type Transfer, type TransferRecord } from '../../base/transfer.ts';
import { put, type RecordKind, type RecordStore, remove } from '../../records/record-store.ts';

export interface RecordCopy {
  readonly kind: string;
  readonly value: unknown;
  readonly expiresAt: number | null;
}

const readsAtOnce = 16;
const writesAtOnce = 4;
/** With their places they fit into one transaction of every engine. */
const recordsPerWrite = 10;

export function recordTransfer(
  store: RecordStore,
  kinds: readonly RecordKind<never>[],
): Transfer<RecordCopy> & Required<Pick<Transfer, 'remove'>> {
  const kindOf = (name: string): RecordKind<unknown> => {
    const kind = kinds.find(each => each.name === name);
    if (kind === undefined)
      throw new Error(`this version of Terse does not know records of the kind ${name}`);
    return kind as RecordKind<unknown>;
  };
  const find = (key: string) => {
    const [kind, recordKey] = columnsOf(key) as [string, string];
    return store.get(kindOf(kind), recordKey);
  };

  const writeOf = async ({ key, value: { kind: name, value, expiresAt } }: TransferRecord<RecordCopy>) => {
    const kind = { ...kindOf(name), expiresAt: () => expiresAt };
    const before = await find(key);
    const isSame = JSON.stringify(before?.value) === JSON.stringify(value) && before?.expiresAt === expiresAt;
    const isKept = isSame || (before !== undefined && kind.lockedUntil !== undefined);
    return isKept ? [] : [put(kind, value, before)];
  };

  return {
    part: 'records',
    async page(cursor, limit) {
      const { records, next } = await store.walk({ limit, cursor });
      return {
        records: records.map(({ kind, key, value, expiresAt }) => ({
          key: compositeKey(kind, key),
          value: { kind, value: JSON.parse(value) as unknown, expiresAt },
        })),
        next,
      };
    },
    async read(keys) {
      const found: TransferRecord<RecordCopy>[] = [];
      await inParallel(keys.length, readsAtOnce, async position => {
        const key = keys[position]!;
        const record = await find(key);
        if (record === undefined) return;
        const { value, expiresAt } = record;
        found.push({ key, value: { kind: String(columnsOf(key)[0]), value, expiresAt } });
      });
      return found;
    },
    async write(records) {
      await inParallel(Math.ceil(records.length / recordsPerWrite), writesAtOnce, async turn => {
        const group = records.slice(turn * recordsPerWrite, (turn + 1) * recordsPerWrite);
        const writes = (await Promise.all(group.map(writeOf))).flat();
        if ((await store.transact(writes)) === 'conflict')
          throw new Error('the target is being changed by another');
      });
    },
    /** Append-only records are not: a target that has more of them is not a copy. */
    isRemovable: key => kindOf(String(columnsOf(key)[0])).lockedUntil === undefined,
    async remove(keys) {
      for (const key of keys) {
        const record = await find(key);
        const kind = kindOf(String(columnsOf(key)[0]));
        if (record !== undefined) await store.transact([remove(kind, record)]);
      }
    },
  };
}

/** Engines that delete expired records by themselves need not agree on when. */
export const isUnexpired = ({ expiresAt }: RecordCopy, now: number): boolean =>
  expiresAt === null || expiresAt > now;
