/** What processes of the earlier version may no longer change, because it was imported into records and is not read. */

export const fenceMessage = 'a newer version of Terse has taken over this table';

/** `columns`: of an update, where others may change. */
export const fencedTables = [
  { table: 'accounts', columns: '' },
  {
    table: 'api_keys',
    columns:
      ' OF account_id, name, scopes, key_hash, previous_hash, previous_until, created_at, expires_at, revoked_at',
  },
  { table: 'sessions', columns: ' OF account_id, token_hash, key_id, expires_at' },
  { table: 'invitations', columns: '' },
  { table: 'reviews', columns: '' },
  { table: 'reports', columns: '' },
  { table: 'block_entries', columns: '' },
] as const;
