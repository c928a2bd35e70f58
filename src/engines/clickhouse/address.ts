/**
 * What a `clickhouse://user:password@host:8123/database` address says. The port is that of ClickHouse's HTTP interface;
 * with `?secure=true` it is spoken over TLS.
 */
export interface ClickHouseAddress {
  /** Such as `http://127.0.0.1:8123`. */
  readonly origin: string;
  readonly database: string;
  readonly username: string;
  readonly password: string;
  /** For messages: names the place and no secret. */
  readonly place: string;
}

const portDefault = { plain: '8123', secure: '8443' } as const;
/** What needs no quotes anywhere. */
const databasePattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

export function parseAddress(url: string): ClickHouseAddress {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.protocol !== 'clickhouse:' || parsed.hostname === '') {
    throw new Error('a ClickHouse address looks like clickhouse://user:password@host:8123/database');
  }
  const database = parsed.pathname.slice(1);
  if (!databasePattern.test(database)) {
    throw new Error('a ClickHouse address ends with a database, named by letters, digits and underscores');
  }
  const unknown = [...parsed.searchParams.keys()].find(name => name !== 'secure');
  if (unknown !== undefined) throw new Error(`a ClickHouse address has no option “${unknown}”`);
  const isSecure = secureOf(parsed.searchParams.get('secure'));
  const port = parsed.port === '' ? portDefault[isSecure ? 'secure' : 'plain'] : parsed.port;
  return {
    origin: `${isSecure ? 'https' : 'http'}://${parsed.hostname}:${port}`,
    database,
    username: parsed.username === '' ? 'default' : decoded(parsed.username),
    password: decoded(parsed.password),
    place: `${parsed.hostname}:${port}/${database}`,
  };
}

function secureOf(text: string | null): boolean {
  if (text === null || text === 'false') return false;
  if (text === 'true') return true;
  throw new Error('secure in a ClickHouse address is true or false');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('the user or password of a ClickHouse address is not percent-encoded properly');
  }
}
