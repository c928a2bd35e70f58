/** The link store of Postgres as parts of a migration. */
import type { Transfer } from '../../../base/transfer.ts';
import type { Postgres, PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import { tableTransfer } from '../../../engines/postgres/table-transfer.ts';
import type { Link } from '../../link.ts';
import type { RememberedAnswer } from '../../store.ts';
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
import { linkColumns, writtenColumns } from './columns.ts';
import { addTags, removeTags, tagRowsOf } from './tags.ts';

export const postgresLinkTransfers = (postgres: Postgres): LinkTransfers => ({
  installation: tableTransfer<InstallationCopy, { name: string; value: Uint8Array }>(postgres, {
    part: 'installation',
    table: 'installation',
    key: ['name'],
    columns: ['name', 'value'],
    rowOf: ({ name, value }) => ({ name, value: `\\x${value}` }),
    valueOf: ({ name, value }) => ({ name, value: value.toHex() }),
  }),
  marks: tableTransfer(postgres, marksTable),
  claims: tableTransfer(postgres, claimsTable),
  links: linksTransfer(postgres),
  answers: tableTransfer<AnswerCopy, AnswerRow>(postgres, {
    part: 'answers',
    table: 'idempotency',
    key: ['owner', 'key'],
    columns: ['owner', 'key', 'fingerprint', 'outcome', 'link', 'created_at'],
    rowOf: ({ ownerId, key, fingerprint, outcome, link, createdAt }) => ({
      owner: ownerId,
      key,
      fingerprint,
      outcome,
      link: JSON.stringify(link),
      created_at: createdAt,
    }),
    valueOf: ({ owner, key, fingerprint, outcome, link, created_at }) => ({
      ownerId: owner,
      key,
      fingerprint,
      outcome,
      link: JSON.parse(link) as Link,
      createdAt: created_at,
    }),
  }),
});

interface AnswerRow {
  owner: string;
  key: string;
  fingerprint: string;
  outcome: RememberedAnswer['outcome'];
  link: string;
  created_at: number;
}

type CopiedRow = LinkRow & { guards_code: number };

const columns = [...writtenColumns, 'guards_code'];
const selected = `${linkColumns}, links.guards_code`;

function linksTransfer(postgres: Postgres): Transfer<LinkCopy> {
  const recordOf = (row: CopiedRow) => ({
    key: row.code,
    value: linkCopy(linkOf(row), row.guards_code === 0),
  });
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
  const rows = copies.map((copy, index) => ({
    ...rowOf(linkOfCopy(copy)),
    // A link that is there already keeps its row.
    id: ids.get(copy.code) ?? numbers[index]!,
    guards_code: copy.isProtected ? 0 : 1,
  }));
  await tx.query(
    `INSERT INTO links (id, ${columns.join(', ')}) SELECT id, ${columns.join(', ')}
     FROM json_populate_recordset(NULL::links, $1::json)
     ON CONFLICT (code) DO UPDATE SET ${columns.map(name => `${name} = excluded.${name}`).join(', ')}`,
    [JSON.stringify(rows)],
  );
  await addTags(tx, rows.flatMap(tagRowsOf));
  // Links that are made later come after all of these.
  await tx.query("SELECT setval('link_ids', greatest((SELECT last_value FROM link_ids), $1))", [
    Math.max(1, ...rows.map(({ id }) => id)),
  ]);
}

/** Takes the tags off the links, to be set anew; returns the rows of those that are there. */
async function untag(tx: PostgresTransaction, codes: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx.query<Pick<LinkRow, 'code' | 'id' | 'owner' | 'tags'>>(
    'SELECT code, id, owner, tags FROM links WHERE code = ANY($1)',
    [codes],
  );
  await removeTags(tx, rows.flatMap(tagRowsOf));
  return new Map(rows.map(({ code, id }) => [code, id]));
}
