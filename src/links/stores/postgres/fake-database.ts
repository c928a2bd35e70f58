/** A Postgres database of one's own with the schema of links in it, for the tests of this folder. */
import { sharedPostgres } from '../../../../test/kit/engines/postgres.ts';
import { patientClock } from '../../../../test/kit/patient-clock.ts';
import { runMigrations } from '../../../engines/postgres/migrations.ts';
import { openPostgres, type Postgres, type PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import { recordMigrations } from '../../../records/drivers/postgres.ts';
import type { LinkStore } from '../../store.ts';
import { linkMigrations } from './schema.ts';
import { createPostgresStore } from './store.ts';

export interface OpenedStore {
  readonly postgres: Postgres;
  readonly store: LinkStore;
}

export const freshDatabase = async (): Promise<string> => (await sharedPostgres()).freshDatabase();

export async function openStore(
  url: string,
  { options = 'pool=8', clock = patientClock } = {},
): Promise<OpenedStore> {
  const postgres = openPostgres(`${url}?${options}`, { clock });
  await runMigrations(postgres, [recordMigrations, linkMigrations]);
  return { postgres, store: storeOn(postgres, clock) };
}

export const storeOn = (postgres: Postgres, clock = patientClock): LinkStore =>
  createPostgresStore(postgres, { clock });

/** The same database, with a callback for every statement. */
export function recording(
  postgres: Postgres,
  hear: (text: string, values: readonly unknown[]) => void,
): Postgres {
  const heard =
    (query: PostgresTransaction['query']): PostgresTransaction['query'] =>
    (text, values = [], options) => {
      hear(text, values);
      return query(text, values, options);
    };
  return {
    ...postgres,
    query: heard(postgres.query),
    read: heard(postgres.read),
    transaction: (work, options) => postgres.transaction(tx => work({ query: heard(tx.query) }), options),
  };
}
