/**
 * What a `postgres://` address says: where the server is, how many connections this process may hold, and where a
 * read replica is. Everything else in it (`sslmode`, `application_name`, …) is for the client library.
 */
export interface PostgresAddress {
  readonly connectionString: string;
  /** The same database at the replica; undefined where none is named. */
  readonly replicaConnectionString: string | undefined;
  readonly connectionsMax: number;
  /** For messages: names the place and no secret. */
  readonly place: string;
}

const connectionsDefault = 20;
const connectionsLimit = 1_000;

export function parseAddress(url: string): PostgresAddress {
  const parsed = URL.parse(url);
  if (parsed === null || !/^postgres(?:ql)?:$/.test(parsed.protocol) || parsed.hostname === '') {
    throw new Error('a Postgres address looks like postgres://user:password@host:5432/database');
  }
  const pool = parsed.searchParams.get('pool');
  const replica = parsed.searchParams.get('replica');
  parsed.searchParams.delete('pool');
  parsed.searchParams.delete('replica');
  return {
    connectionString: parsed.href,
    replicaConnectionString: replica === null ? undefined : atReplica(parsed, replica),
    connectionsMax: pool === null ? connectionsDefault : connectionsOf(pool),
    place: `${parsed.host}${parsed.pathname}`,
  };
}

function connectionsOf(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= connectionsLimit) return count;
  throw new Error(`pool in a Postgres address is a number of connections from 1 to ${connectionsLimit}`);
}

function atReplica(primary: URL, replica: string): string {
  const place = URL.parse(`postgres://${replica}`);
  if (place === null || place.hostname === '' || place.host !== replica) {
    throw new Error('replica in a Postgres address is a host and a port, such as replica.example:5432');
  }
  const address = new URL(primary);
  address.host = place.host;
  // Of an address without a port this leaves the primary's, which is not what was asked for.
  address.port = place.port;
  return address.href;
}
