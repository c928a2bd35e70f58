/**
 * The schema of links on disk. Rows are appended in creation order (`id`), so an insert only sometimes costs a new
 * page; only the two narrow indexes by code and by URL are written at random places. An owner's links by time need no
 * column of their own: an index entry ends with the row's id. The one large table is not STRICT, because SQLite would
 * check every row of it, under the write lock, whenever a column is added. Fields that were added to the table of fields
 * later become columns when the database is opened.
 */
import type { MigrationSet } from '../../../engines/sqlite/migrations.ts';
import { isText, laterColumns } from '../rows.ts';

export const linkMigrations: MigrationSet = {
  component: 'links',
  steps: [
    `
    CREATE TABLE links (
      id INTEGER PRIMARY KEY,
      code TEXT NOT NULL,
      long_url TEXT NOT NULL,
      url_hash INTEGER NOT NULL,
      owner TEXT NOT NULL,
      custom INTEGER NOT NULL,
      status INTEGER NOT NULL,
      redirect_type INTEGER NOT NULL,
      forward_query INTEGER NOT NULL,
      public_stats INTEGER NOT NULL,
      title TEXT,
      tags TEXT,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      expires_at INTEGER,
      max_clicks INTEGER,
      used_clicks INTEGER NOT NULL,
      version INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX links_by_code ON links (code);
    CREATE INDEX links_by_url ON links (url_hash) WHERE status = 0;
    CREATE INDEX links_by_owner ON links (owner) WHERE status <> 2;
    CREATE INDEX links_by_status ON links (owner, status) WHERE status <> 0;
    CREATE INDEX links_by_expiry ON links (expires_at) WHERE expires_at IS NOT NULL;

    CREATE TABLE link_tags (
      owner TEXT NOT NULL,
      tag TEXT NOT NULL,
      link_id INTEGER NOT NULL,
      PRIMARY KEY (owner, tag, link_id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE ranges (length INTEGER PRIMARY KEY, mark INTEGER NOT NULL) STRICT;
    CREATE TABLE claims (
      length INTEGER NOT NULL,
      id INTEGER NOT NULL,
      PRIMARY KEY (length, id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE changes (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      code TEXT NOT NULL,
      claim_length INTEGER,
      claim_id INTEGER
    ) STRICT;

    CREATE TABLE idempotency (
      owner TEXT NOT NULL,
      key TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      link TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      PRIMARY KEY (owner, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX idempotency_by_age ON idempotency (created_at);

    CREATE TABLE installation (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
    `,
    // 1 for a generated code that neither a lease nor a claim protects: its row must outlive the link.
    'ALTER TABLE links ADD COLUMN guards_code INTEGER NOT NULL DEFAULT 0',
    'ALTER TABLE links ADD COLUMN risk TEXT',
    // Each region leases from its own share; the existing mark becomes the share that starts at 0.
    `
    CREATE TABLE spans (
      length INTEGER NOT NULL,
      first INTEGER NOT NULL,
      mark INTEGER NOT NULL,
      PRIMARY KEY (length, first)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO spans (length, first, mark) SELECT length, 0, mark FROM ranges;
    DROP TABLE ranges;
    ALTER TABLE spans RENAME TO ranges;
    `,
    'CREATE TABLE outbox (seq INTEGER PRIMARY KEY, type TEXT NOT NULL, link TEXT NOT NULL) STRICT',
  ],
  columns: { table: 'links', definitions: laterColumns(kind => (isText(kind) ? 'TEXT' : 'INTEGER')) },
};
