/**
 * Reviews, reports and the audit trail of the embedded database as parts of a migration. The trail can only be added
 * to, so what was appended is remembered by where it came from, in the same transaction.
 */
import type { Database } from 'bun:sqlite';
import type { AuditRecord } from '../../../base/audit-entry.ts';
import type { Transfer } from '../../../base/transfer.ts';
import { type AuditRow, auditEntryOf, prepareAuditAppend } from '../../../engines/sqlite/audit-table.ts';
import { inTransaction, tableTransfer } from '../../../engines/sqlite/table-transfer.ts';
import { auditCopy, auditPlaceOf, type ModerationTransfers } from '../../transfer.ts';
import { reportsTable, reviewsTable } from '../transferred-tables.ts';

export const sqliteModerationTransfers = (
  database: Database,
  side: 'source' | 'target',
): ModerationTransfers => ({
  reviews: tableTransfer(database, reviewsTable),
  reports: tableTransfer(database, reportsTable),
  audit: auditTransfer(database, side),
});

type KeyedRow = AuditRow & { key: string | null };

/** Only a target has the table of what was transferred; entries of its own are found under their own ids. */
function auditTransfer(database: Database, side: 'source' | 'target'): Transfer<AuditRecord> {
  const source =
    side === 'target'
      ? 'transferred_audit.key, audit.* FROM audit LEFT JOIN transferred_audit USING (seq)'
      : 'NULL AS key, audit.* FROM audit';
  const page = database.query<KeyedRow, [number, number]>(
    `SELECT ${source} WHERE audit.seq > ? ORDER BY audit.seq LIMIT ?`,
  );
  const recordOf = ({ key, ...row }: KeyedRow) => {
    const copy = auditCopy(auditEntryOf(row));
    return key === null ? copy : { ...copy, key };
  };

  return {
    part: 'audit',
    async page(cursor, limit) {
      const rows = page.all(cursor === undefined ? 0 : Number(cursor), limit);
      return {
        records: rows.map(recordOf),
        next: rows.length < limit ? undefined : String(rows.at(-1)!.seq),
      };
    },
    async read(keys) {
      if (side === 'source') {
        const seqs = JSON.stringify(keys.map(key => Number.parseInt(auditPlaceOf(key).id, 36)));
        return database
          .query<KeyedRow, [string]>(
            'SELECT NULL AS key, audit.* FROM json_each(?) AS wanted CROSS JOIN audit ON audit.seq = wanted.value',
          )
          .all(seqs)
          .map(recordOf);
      }
      return database
        .query<KeyedRow, [string]>(
          `SELECT transferred_audit.key, audit.* FROM json_each(?) AS wanted
           CROSS JOIN transferred_audit ON transferred_audit.key = wanted.value JOIN audit USING (seq)`,
        )
        .all(JSON.stringify(keys))
        .map(recordOf);
    },
    async write(records) {
      const append = prepareAuditAppend(database);
      const isThere = database.query('SELECT 1 FROM transferred_audit WHERE key = ?');
      const note = database.query('INSERT INTO transferred_audit (key, seq) VALUES (?, last_insert_rowid())');
      inTransaction(database, () => {
        for (const { key, value } of records) {
          if (isThere.get(key) !== null) continue;
          append(value);
          note.run(key);
        }
      });
    },
  };
}
