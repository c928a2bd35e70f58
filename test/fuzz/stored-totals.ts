/**
 * Detects whether a request stored anything. Asking SQLite for new commits is very cheap, so it is done after every
 * rejection; totals are compared only after a commit, because the server may record the use of a key or lease codes at
 * any time.
 */
import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { join } from 'node:path';

/** Every change of a link, a key or an answer changes at least one of these. */
const totalsQuery = `
  SELECT (SELECT count(*) FROM links) AS links, (SELECT total(version) FROM links) AS versions,
    (SELECT total(used_clicks) FROM links) AS clicks, (SELECT count(*) FROM link_tags) AS tags,
    (SELECT count(*) FROM claims) AS claims, (SELECT max(seq) FROM changes) AS lastChange,
    (SELECT count(*) FROM idempotency) AS answers, (SELECT count(*) FROM records WHERE kind = 'account') AS accounts,
    (SELECT count(*) FROM records WHERE kind = 'key') AS keys,
    (SELECT count(value ->> '$.key.revokedAt') FROM records WHERE kind = 'key') AS revokedKeys,
    (SELECT count(*) FROM records WHERE kind = 'session') AS sessions,
    (SELECT count(*) FROM records WHERE kind = 'invitation') AS invitations,
    (SELECT max(key) FROM records WHERE kind = 'audit') AS lastEntry,
    (SELECT total(value ->> '$.times') FROM records WHERE kind = 'report') AS reports,
    (SELECT count(*) FROM records WHERE kind = 'review') AS reviews,
    (SELECT total(value ->> '$.score') FROM records WHERE kind = 'review') AS scores,
    (SELECT value ->> '$.revision' FROM records WHERE kind = 'block-list') AS blockEntries`;

export class StoredTotals {
  readonly #database: Database;
  readonly #version: () => number;
  #seenVersion = 0;
  #seen: unknown;

  constructor(dataFolder: string) {
    this.#database = new Database(join(dataFolder, 'terse.db'), { readwrite: true });
    this.#database.run('PRAGMA busy_timeout = 5000');
    const version = this.#database.query<{ data_version: number }, []>('PRAGMA data_version');
    this.#version = () => version.get()!.data_version;
    this.note();
  }

  /** Records the current state as accepted. */
  note(): void {
    this.#seenVersion = this.#version();
    this.#seen = this.#totals();
  }

  expectUnchanged(): void {
    const version = this.#version();
    if (version === this.#seenVersion) return;
    this.#seenVersion = version;
    expect(this.#totals()).toEqual(this.#seen);
  }

  #totals(): unknown {
    return this.#database.query(totalsQuery).get();
  }

  close(): void {
    this.#database.close();
  }
}
