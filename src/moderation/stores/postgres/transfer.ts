/**
 * Reviews, reports and the audit trail of Postgres as parts of a migration. The trail can only be added to, so what was
 * appended is remembered by where it came from, in the same transaction.
 */
import type { AuditRecord } from '../../../base/audit-entry.ts';
import type { Transfer } from '../../../base/transfer.ts';
import { type AuditRow, appendAudit, auditEntryOf } from '../../../engines/postgres/audit-table.ts';
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import { tableTransfer } from '../../../engines/postgres/table-transfer.ts';
import { auditCopy, auditPlaceOf, type ModerationTransfers } from '../../transfer.ts';
import { reportsTable, reviewsTable } from '../transferred-tables.ts';

export const postgresModerationTransfers = (
  postgres: Postgres,
  side: 'source' | 'target',
): ModerationTransfers => ({
  reviews: tableTransfer(postgres, reviewsTable),
  reports: tableTransfer(postgres, reportsTable),
  audit: auditTransfer(postgres, side),
});

type KeyedRow = AuditRow & { key: string | null };

/** Only a target has the table of what was transferred; entries of its own are found under their own ids. */
function auditTransfer(postgres: Postgres, side: 'source' | 'target'): Transfer<AuditRecord> {
  const from =
    side === 'target'
      ? 'transferred_audit.key, audit.* FROM audit LEFT JOIN transferred_audit USING (seq)'
      : 'NULL AS key, audit.* FROM audit';
  const recordOf = ({ key, ...row }: KeyedRow) => {
    const copy = auditCopy(auditEntryOf(row));
    return key === null ? copy : { ...copy, key };
  };

  return {
    part: 'audit',
    async page(cursor, limit) {
      const rows = await postgres.query<KeyedRow>(
        `SELECT ${from} WHERE audit.seq > $1 ORDER BY audit.seq LIMIT $2`,
        [cursor ?? 0, limit],
      );
      return {
        records: rows.map(recordOf),
        next: rows.length < limit ? undefined : String(rows.at(-1)!.seq),
      };
    },
    async read(keys) {
      const rows =
        side === 'source'
          ? await postgres.query<KeyedRow>(`SELECT ${from} WHERE audit.seq = ANY($1::int8[])`, [
              keys.map(key => Number.parseInt(auditPlaceOf(key).id, 36)),
            ])
          : await postgres.query<KeyedRow>(`SELECT ${from} WHERE transferred_audit.key = ANY($1)`, [keys]);
      return rows.map(recordOf);
    },
    async write(records) {
      await postgres.transaction(async tx => {
        const known = await tx.query<{ key: string }>(
          'SELECT key FROM transferred_audit WHERE key = ANY($1)',
          [records.map(({ key }) => key)],
        );
        const knownKeys = new Set(known.map(({ key }) => key));
        const missing = records.filter(({ key }) => !knownKeys.has(key));
        const [before] = await tx.query<{ seq: number }>('SELECT coalesce(max(seq), 0) AS seq FROM audit');
        await appendAudit(
          tx,
          missing.map(({ value }) => value),
        );
        const seqs = await tx.query<{ seq: number }>('SELECT seq FROM audit WHERE seq > $1 ORDER BY seq', [
          before!.seq,
        ]);
        if (seqs.length !== missing.length) throw new Error('somebody else writes to the audit trail');
        await tx.query(
          'INSERT INTO transferred_audit (key, seq) SELECT * FROM unnest($1::text[], $2::int8[])',
          [missing.map(({ key }) => key), seqs.map(({ seq }) => seq)],
        );
      });
    },
  };
}
