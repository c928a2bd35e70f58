/**
 * What a `postgres://` address says: where the server is, how many connections this process may hold, where a read
 * replica is and how long that one may be read from while the server is down. Everything else in it (`sslmode`,
 * `application_name`, …) is for the client library.
 */
export interface PostgresAddress {
  readonly connectionString: string;
  /** The same database at the replica; undefined where none is named. */
  readonly replicaConnectionString: string | undefined;
  readonly connectionsMax: number;
  /** How long the replica answers redirects while the primary answers nothing. */
  readonly aloneMaxMs: number;
  /** For messages: names the place and no secret. */
  readonly place: string;
}

const connectionsDefault = 20;
const connectionsLimit = 1_000;
/** Long enough to find out what is wrong and to promote the replica. */
const aloneSDefault = 600;
const aloneSLimit = 86_400;

export function parseAddress(url: string): PostgresAddress {
  const parsed = URL.parse(url);
  if (parsed === null || !/^postgres(?:ql)?:$/.test(parsed.protocol) || parsed.hostname === '') {
    throw new Error('a Postgres address looks like postgres://user:password@host:5432/database');
  }
  const pool = parsed.searchParams.get('pool');
  const replica = parsed.searchParams.get('replica');
  const aloneS = parsed.searchParams.get('replicaAloneS');
  for (const ours of ['pool', 'replica', 'replicaAloneS']) parsed.searchParams.delete(ours);
  return {
    connectionString: parsed.href,
    replicaConnectionString: replica === null ? undefined : atReplica(parsed, replica),
    connectionsMax: pool === null ? connectionsDefault : connectionsOf(pool),
    aloneMaxMs: (aloneS === null ? aloneSDefault : aloneSOf(aloneS)) * 1_000,
    place: `${parsed.host}${parsed.pathname}`,
  };
}

function connectionsOf(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= connectionsLimit) return count;
  throw new Error(`pool in a Postgres address is a number of connections from 1 to ${connectionsLimit}`);
}

function aloneSOf(text: string): number {
  const seconds = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds <= aloneSLimit) return seconds;
  throw new Error(`replicaAloneS in a Postgres address is a number of seconds from 0 to ${aloneSLimit}`);
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
