/** The link store of the embedded database as parts of a migration. */
import type { Database } from 'bun:sqlite';
import type { Transfer } from '../../../base/transfer.ts';
import type { TableRow } from '../../../base/transferred-table.ts';
import { inTransaction, tableTransfer } from '../../../engines/sqlite/table-transfer.ts';
import {
  type AnswerCopy,
  type InstallationCopy,
  type LinkCopy,
  type LinkTransfers,
  linkCopy,
  linkOfCopy,
} from '../../transfer.ts';
import { rowNumbersFor } from '../row-numbers.ts';
import { type LinkRow, linkOf, rowOf } from '../rows.ts';
import { claimsTable, marksTable } from '../transferred-tables.ts';
import { answerText, readAnswer } from './recall.ts';

export const sqliteLinkTransfers = (database: Database): LinkTransfers => ({
  installation: tableTransfer<InstallationCopy, { name: string; value: Uint8Array }>(database, {
    part: 'installation',
    table: 'installation',
    key: ['name'],
    columns: ['name', 'value'],
    rowOf: ({ name, value }) => ({ name, value: Uint8Array.fromHex(value) }),
    valueOf: ({ name, value }) => ({ name, value: value.toHex() }),
  }),
  marks: tableTransfer(database, marksTable),
  claims: tableTransfer(database, claimsTable),
  links: linksTransfer(database),
  answers: tableTransfer<AnswerCopy, AnswerRow>(database, {
    part: 'answers',
    table: 'idempotency',
    key: ['owner', 'key'],
    columns: ['owner', 'key', 'fingerprint', 'link', 'created_at'],
    rowOf: ({ ownerId, key, fingerprint, createdAt, outcome, link }) => ({
      owner: ownerId,
      key,
      fingerprint,
      link: answerText(outcome, link),
      created_at: createdAt,
    }),
    valueOf: ({ owner, key, fingerprint, link, created_at }) => ({
      ownerId: owner,
      key,
      fingerprint,
      createdAt: created_at,
      ...readAnswer(link),
    }),
  }),
});

interface AnswerRow {
  owner: string;
  key: string;
  fingerprint: string;
  link: string;
  created_at: number;
}

type CopiedRow = LinkRow & { guards_code: number };

function linksTransfer(database: Database): Transfer<LinkCopy> {
  const after = database.query<CopiedRow, [number, number]>(
    'SELECT * FROM links WHERE id > ? ORDER BY id LIMIT ?',
  );
  const wanted = database.query<CopiedRow, [string]>(
    'SELECT links.* FROM json_each(?) AS wanted CROSS JOIN links ON links.code = wanted.value',
  );
  const recordOf = (row: CopiedRow) => ({
    key: row.code,
    value: linkCopy(linkOf(row), row.guards_code === 0),
  });

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

const columns = [
  ...['code', 'long_url', 'url_hash', 'owner', 'custom', 'status', 'redirect_type', 'forward_query'],
  ...['public_stats', 'title', 'tags', 'created_at', 'updated_at', 'expires_at', 'max_clicks', 'used_clicks'],
  ...['risk', 'version', 'guards_code'],
];

function prepareWrites(database: Database) {
  const upsert = database.query<unknown, [TableRow]>(`
    INSERT INTO links (id, ${columns.join(', ')}) VALUES ($id, ${columns.map(name => `$${name}`).join(', ')})
    ON CONFLICT (code) DO UPDATE SET ${columns.map(name => `${name} = excluded.${name}`).join(', ')}`);
  const removal = database.query('DELETE FROM links WHERE id = ?');
  const idOf = database.query<{ id: number; owner: string; tags: string | null }, [string]>(
    'SELECT id, owner, tags FROM links WHERE code = ?',
  );
  const addTag = database.query('INSERT OR IGNORE INTO link_tags (owner, tag, link_id) VALUES (?, ?, ?)');
  const dropTag = database.query('DELETE FROM link_tags WHERE owner = ? AND tag = ? AND link_id = ?');

  /** The row that the link has, if any; its tags are set anew by whoever asks. */
  const untagged = (code: string): number | undefined => {
    const before = idOf.get(code);
    if (before === null) return undefined;
    const tags = before.tags === null ? [] : (JSON.parse(before.tags) as string[]);
    for (const tag of tags) dropTag.run(before.owner, tag, before.id);
    return before.id;
  };

  return {
    /** A link that is there already keeps its row. */
    put(copy: LinkCopy, rowNumber: number): void {
      const id = untagged(copy.code) ?? rowNumber;
      const row = rowOf(linkOfCopy(copy));
      upsert.run({ ...row, id, guards_code: copy.isProtected ? 0 : 1 });
      for (const tag of copy.tags) addTag.run(row.owner, tag, id);
    },
    remove(code: string): void {
      const id = untagged(code);
      if (id !== undefined) removal.run(id);
    },
  };
}
