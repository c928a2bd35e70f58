/**
 * Who waits for whom. At READ COMMITTED two transactions may both look, both find that there is room, and both write;
 * so whatever looks before it writes first holds the row that all others who do the same hold too. Always in this
 * order, so that nobody waits in a circle: the turn of admins, then one account, then what belongs to it. They are rows
 * and not advisory locks because every database that speaks this protocol has rows.
 */
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import type { Account } from '../../account.ts';
import { type AccountRow, accountOf } from '../rows.ts';

/** For changes of who is an admin. */
export async function takeAdminTurn(tx: PostgresTransaction): Promise<void> {
  await tx.query('SELECT 1 FROM admin_turn FOR UPDATE');
}

/** The account as it is until this transaction ends; nobody adds a key or a session to it meanwhile. */
export async function holdAccount(tx: PostgresTransaction, id: string): Promise<Account | undefined> {
  const [row] = await tx.query<AccountRow>('SELECT * FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [id]);
  return row && accountOf(row);
}
