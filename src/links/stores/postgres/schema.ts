/**
 * How links lie in Postgres. The code is the primary key, so on an engine that spreads rows over machines a redirect
 * touches one of them. `id` counts links in the order of their creation and orders every list. Text that is compared is
 * compared by its bytes (collation "C"): codes differ by case, independent of any language.
 *
 * `feed` is one row. A transaction that writes changes adds to its counter with the last statement before COMMIT, and
 * the row stays locked until then: so numbers become visible in their order, and a reader that has seen one has seen
 * all before it.
 *
 * `lineage` says which server, in which of its lives, wrote a row last. A server that was promoted, or restored from a
 * copy, is another one: the server it replaces may have leased and noted more than was copied, so leases and the feed
 * then continue far ahead of where they were (ranges.ts, feed.ts).
 */
import type { MigrationSet } from '../../../engines/postgres/migrations.ts';
import type { FieldKind } from '../../fields.ts';
import { insertedColumns, isText, kindOfColumn, laterColumns, writtenColumns } from '../rows.ts';

const typeOf = (kind: FieldKind | undefined): string => {
  if (kind !== undefined && isText(kind)) return 'text COLLATE "C"';
  return kind === 'flag' || kind === 'choice' ? 'int2' : 'int8';
};

/** By name: a prepared statement must still fit when a newer version has added a column. */
export const linkColumns = ['id', ...writtenColumns].map(name => `links.${name}`).join(', ');

/** For `json_to_recordset`: rows travel as one JSON text, which costs far less than an array for each column. */
export const rowDefinition = insertedColumns.map(name => `${name} ${typeOf(kindOfColumn(name))}`).join(', ');

export const linkMigrations: MigrationSet = {
  component: 'links',
  steps: [
    `
    CREATE SEQUENCE link_ids;
    CREATE TABLE links (
      code TEXT COLLATE "C" PRIMARY KEY,
      id BIGINT NOT NULL,
      long_url TEXT COLLATE "C" NOT NULL,
      url_hash BIGINT NOT NULL,
      owner TEXT COLLATE "C" NOT NULL,
      custom SMALLINT NOT NULL,
      status SMALLINT NOT NULL,
      redirect_type SMALLINT NOT NULL,
      forward_query SMALLINT NOT NULL,
      public_stats SMALLINT NOT NULL,
      title TEXT COLLATE "C",
      tags TEXT COLLATE "C",
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      expires_at BIGINT,
      max_clicks BIGINT,
      used_clicks BIGINT NOT NULL,
      risk TEXT COLLATE "C",
      version INTEGER NOT NULL,
      -- 1 where neither a lease nor a claim protects a generated code: its row must outlive the link.
      guards_code SMALLINT NOT NULL
    );
    CREATE INDEX links_by_id ON links (id);
    CREATE INDEX links_by_url ON links (url_hash, id) WHERE status = 0;
    CREATE INDEX links_by_owner ON links (owner, id) WHERE status <> 2;
    CREATE INDEX links_by_status ON links (owner, status, id) WHERE status <> 0;
    CREATE INDEX links_by_expiry ON links (expires_at) WHERE expires_at IS NOT NULL;

    CREATE TABLE link_tags (
      owner TEXT COLLATE "C" NOT NULL,
      tag TEXT COLLATE "C" NOT NULL,
      link_id BIGINT NOT NULL,
      PRIMARY KEY (owner, tag, link_id)
    );

    CREATE TABLE ranges (length INTEGER PRIMARY KEY, mark BIGINT NOT NULL);
    CREATE TABLE claims (length INTEGER NOT NULL, id BIGINT NOT NULL, PRIMARY KEY (length, id));

    CREATE TABLE feed (name TEXT PRIMARY KEY, last_seq BIGINT NOT NULL, pruned_seq BIGINT NOT NULL);
    INSERT INTO feed (name, last_seq, pruned_seq) VALUES ('links', 0, 0);
    CREATE TABLE changes (
      seq BIGINT PRIMARY KEY,
      at BIGINT NOT NULL,
      code TEXT COLLATE "C" NOT NULL,
      claim_length INTEGER,
      claim_id BIGINT
    );
    CREATE INDEX changes_by_age ON changes (at);

    CREATE TABLE idempotency (
      owner TEXT COLLATE "C" NOT NULL,
      key TEXT COLLATE "C" NOT NULL,
      fingerprint TEXT COLLATE "C" NOT NULL,
      outcome TEXT COLLATE "C" NOT NULL,
      link TEXT COLLATE "C" NOT NULL,
      created_at BIGINT NOT NULL,
      PRIMARY KEY (owner, key)
    );
    CREATE INDEX idempotency_by_age ON idempotency (created_at);

    CREATE TABLE installation (name TEXT COLLATE "C" PRIMARY KEY, value BYTEA NOT NULL);
    `,
    // An engine that only speaks the protocol of Postgres may not report its lineage. Then it is always the same.
    `
    CREATE FUNCTION terse_lineage() RETURNS TEXT LANGUAGE plpgsql AS $$
    BEGIN
      RETURN (SELECT system_identifier FROM pg_control_system()) || '/' ||
        left(pg_walfile_name(pg_current_wal_lsn()), 8);
    EXCEPTION WHEN undefined_function OR insufficient_privilege OR feature_not_supported THEN
      RETURN '';
    END $$;
    ALTER TABLE ranges ADD COLUMN first BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE ranges ADD COLUMN lineage TEXT COLLATE "C" NOT NULL DEFAULT terse_lineage();
    ALTER TABLE ranges DROP CONSTRAINT ranges_pkey;
    ALTER TABLE ranges ADD PRIMARY KEY (length, first);
    ALTER TABLE feed ADD COLUMN lineage TEXT COLLATE "C" NOT NULL DEFAULT terse_lineage();
    `,
    'CREATE TABLE outbox (seq BIGINT PRIMARY KEY, type TEXT COLLATE "C" NOT NULL, link TEXT COLLATE "C" NOT NULL)',
  ],
  columns: { table: 'links', definitions: laterColumns(typeOf) },
};
