/** The link store of Postgres as parts of a migration. */
import type { Transfer } from '../../../base/transfer.ts';
import type { Postgres, PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import { tableTransfer } from '../../../engines/postgres/transfer.ts';
import { withLaterFields } from '../../fields.ts';
import type { Link } from '../../link.ts';
import type { RememberedAnswer } from '../../store.ts';
import type { LinkCopy, LinkTransfers } from '../../transfer.ts';
import { insertedColumns, type LinkRow } from '../rows.ts';
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
import { addTags, removeTags, tagRowsOf } from './edit.ts';
import { linkColumns } from './schema.ts';

export const postgresLinkTransfers = (postgres: Postgres): LinkTransfers => ({
  installation: tableTransfer(
    postgres,
    installationTable(hex => `\\x${hex}`),
  ),
  marks: tableTransfer(postgres, marksTable),
  claims: tableTransfer(postgres, claimsTable),
  links: linksTransfer(postgres),
  answers: tableTransfer(
    postgres,
    answersTable<{ outcome: RememberedAnswer['outcome']; link: string }>(
      ['outcome', 'link'],
      ({ outcome, link }) => ({ outcome, link: JSON.stringify(link) }),
      ({ outcome, link }) => ({ outcome, link: withLaterFields(JSON.parse(link) as Link) }),
    ),
  ),
});

const selected = `${linkColumns}, links.guards_code`;

function linksTransfer(postgres: Postgres): Transfer<LinkCopy> {
  return {
    part: 'links',
    // Row numbers become visible out of order, but a round begins at the first again.
    async page(cursor, limit) {
      const rows = await postgres.query<CopiedRow>(
        `SELECT ${selected} FROM links WHERE id > $1 ORDER BY id LIMIT $2`,
        [cursor ?? -1, limit],
      );
      return { records: rows.map(recordOf), next: rows.length < limit ? undefined : String(rows.at(-1)!.id) };
    },
    async read(codes) {
      const rows = await postgres.query<CopiedRow>(`SELECT ${selected} FROM links WHERE code = ANY($1)`, [
        codes,
      ]);
      return rows.map(recordOf);
    },
    write: records =>
      postgres.transaction(tx =>
        write(
          tx,
          records.map(({ value }) => value),
        ),
      ),
    remove: codes =>
      postgres.transaction(async tx => {
        await untag(tx, codes);
        await tx.query('DELETE FROM links WHERE code = ANY($1)', [codes]);
      }),
  };
}

async function write(tx: PostgresTransaction, copies: readonly LinkCopy[]): Promise<void> {
  const ids = await untag(
    tx,
    copies.map(({ code }) => code),
  );
  const numbers = await rowNumbersFor(
    copies.map(({ createdAt }) => createdAt),
    async blocks => {
      const rows = await tx.query<{ last: number | null }>(
        `SELECT (SELECT max(id) FROM links WHERE id >= block.start AND id < block.stop) AS last
         FROM unnest($1::int8[], $2::int8[]) WITH ORDINALITY AS block(start, stop, place) ORDER BY place`,
        [blocks.map(({ start }) => start), blocks.map(({ end }) => end)],
      );
      return rows.map(({ last }) => last);
    },
  );
  const rows = copies.map((copy, index) => copiedRow(copy, ids.get(copy.code) ?? numbers[index]!));
  const columns = insertedColumns.join(', ');
  await tx.query(
    `INSERT INTO links (id, ${columns}) SELECT id, ${columns}
     FROM json_populate_recordset(NULL::links, $1::json)
     ON CONFLICT (code) DO UPDATE SET ${insertedColumns.map(name => `${name} = excluded.${name}`).join(', ')}`,
    [JSON.stringify(rows)],
  );
  await addTags(tx, rows.flatMap(tagRowsOf));
  // Links that are made later come after all of these.
  await tx.query("SELECT setval('link_ids', greatest((SELECT last_value FROM link_ids), $1))", [
    Math.max(1, ...rows.map(({ id }) => id)),
  ]);
}

/** Removes the tags of the links, to be set again; returns the rows of those that exist. */
async function untag(tx: PostgresTransaction, codes: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx.query<Pick<LinkRow, 'code' | 'id' | 'owner' | 'tags'>>(
    'SELECT code, id, owner, tags FROM links WHERE code = ANY($1)',
    [codes],
  );
  await removeTags(tx, rows.flatMap(tagRowsOf));
  return new Map(rows.map(({ code, id }) => [code, id]));
}
