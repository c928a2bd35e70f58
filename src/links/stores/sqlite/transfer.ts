/** The link store of the embedded database as parts of a migration. */
import type { Database } from 'bun:sqlite';
import type { TableRow, Transfer } from '../../../base/transfer.ts';
import { inTransaction, tableTransfer } from '../../../engines/sqlite/transfer.ts';
import type { LinkCopy, LinkTransfers } from '../../transfer.ts';
import { insertedColumns, tagsIn } from '../rows.ts';
import {
  answersTable,
  type CopiedRow,
  claimsTable,
  copiedRow,
  installationTable,
  marksTable,
  recordOf,
  rowNumbersFor,
} from '../sql-transfer.ts';
import { answerText, readAnswer } from './reads.ts';

export const sqliteLinkTransfers = (database: Database): LinkTransfers => ({
  installation: tableTransfer(
    database,
    installationTable(hex => Uint8Array.fromHex(hex)),
  ),
  marks: tableTransfer(database, marksTable),
  claims: tableTransfer(database, claimsTable),
  links: linksTransfer(database),
  answers: tableTransfer(
    database,
    answersTable<{ link: string }>(
      ['link'],
      answered => ({ link: answerText(answered) }),
      ({ link }) => readAnswer(link),
    ),
  ),
});

function linksTransfer(database: Database): Transfer<LinkCopy> {
  const after = database.query<CopiedRow, [number, number]>(
    'SELECT * FROM links WHERE id > ? ORDER BY id LIMIT ?',
  );
  const wanted = database.query<CopiedRow, [string]>(
    'SELECT links.* FROM json_each(?) AS wanted CROSS JOIN links ON links.code = wanted.value',
  );

  return {
    part: 'links',
    async page(cursor, limit) {
      const rows = after.all(cursor === undefined ? -1 : Number(cursor), limit);
      return { records: rows.map(recordOf), next: rows.length < limit ? undefined : String(rows.at(-1)!.id) };
    },
    read: async codes => wanted.all(JSON.stringify(codes)).map(recordOf),
    async write(records) {
      const { put } = prepareWrites(database);
      const lastIn = database.query<{ last: number | null }, [number, number]>(
        'SELECT max(id) AS last FROM links WHERE id >= ? AND id < ?',
      );
      const numbers = await rowNumbersFor(
        records.map(({ value }) => value.createdAt),
        async blocks => blocks.map(({ start, end }) => lastIn.get(start, end)?.last ?? null),
      );
      inTransaction(database, () => {
        for (const [index, { value }] of records.entries()) put(value, numbers[index]!);
      });
    },
    async remove(codes) {
      const { remove } = prepareWrites(database);
      inTransaction(database, () => {
        for (const code of codes) remove(code);
      });
    },
  };
}

function prepareWrites(database: Database) {
  const upsert = database.query<unknown, [TableRow]>(`
    INSERT INTO links (id, ${insertedColumns.join(', ')})
    VALUES ($id, ${insertedColumns.map(name => `$${name}`).join(', ')})
    ON CONFLICT (code) DO UPDATE SET ${insertedColumns.map(name => `${name} = excluded.${name}`).join(', ')}`);
  const removal = database.query('DELETE FROM links WHERE id = ?');
  const idOf = database.query<{ id: number; owner: string; tags: string | null }, [string]>(
    'SELECT id, owner, tags FROM links WHERE code = ?',
  );
  const addTag = database.query('INSERT OR IGNORE INTO link_tags (owner, tag, link_id) VALUES (?, ?, ?)');
  const dropTag = database.query('DELETE FROM link_tags WHERE owner = ? AND tag = ? AND link_id = ?');

  /** The link's existing row, if any; the caller sets its tags again. */
  const untagged = (code: string): number | undefined => {
    const before = idOf.get(code);
    if (before === null) return undefined;
    for (const tag of tagsIn(before.tags)) dropTag.run(before.owner, tag, before.id);
    return before.id;
  };

  return {
    /** An existing link keeps its row. */
    put(copy: LinkCopy, rowNumber: number): void {
      const id = untagged(copy.code) ?? rowNumber;
      const row = copiedRow(copy, id);
      upsert.run(row as unknown as TableRow);
      for (const tag of copy.tags) addTag.run(row.owner, tag, id);
    },
    remove(code: string): void {
      const id = untagged(code);
      if (id !== undefined) removal.run(id);
    },
  };
}
