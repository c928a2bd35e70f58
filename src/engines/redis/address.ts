/**
 * Where Redis is, as it is written in a setting: `redis://user:password@host:port/database`, `rediss://` over TLS, and
 * `redis-cluster://host:port,host:port` (`rediss-cluster://`) for any few servers of a Cluster, which name the others.
 */
export interface RedisAddress {
  readonly isCluster: boolean;
  readonly isEncrypted: boolean;
  readonly servers: readonly ServerAddress[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
}

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

const portDefault = 6379;
const schemes = ['redis:', 'rediss:', 'redis-cluster:', 'rediss-cluster:'];

export function parseRedisAddress(text: string): RedisAddress {
  const [, scheme = '', login, hosts = '', path = ''] =
    /^([a-z-]+:)\/\/(?:([^@/]*)@)?([^@/?#]*)\/?([^?#]*)$/.exec(text) ?? [];
  if (!schemes.includes(scheme)) throw new Error(`a Redis address starts with one of ${schemes.join(', ')}`);
  const isCluster = scheme.endsWith('-cluster:');
  const servers = hosts.split(',').map(parseServer);
  if (servers.length > 1 && !isCluster) throw new Error('only redis-cluster:// takes several servers');
  if (isCluster && path !== '') throw new Error('a Redis Cluster has no numbered databases');
  if (!/^\d{0,5}$/.test(path)) throw new Error('the path of a Redis address is the number of a database');
  const [username = '', password = ''] = login === undefined ? [] : splitLogin(login);
  return {
    isCluster,
    isEncrypted: scheme.startsWith('rediss'),
    servers,
    username: username === '' ? undefined : username,
    password: password === '' ? undefined : password,
    database: Number(path),
  };
}

/** Equal for equal servers, so that it serves as their name. */
export function nameOf({ host, port }: ServerAddress): string {
  return `${host}:${port}`;
}

function parseServer(text: string): ServerAddress {
  const [, bracketed, plain, port] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port ?? portDefault) > 65_535) {
    throw new Error(`"${text}" is not a host and a port of a Redis server`);
  }
  return { host, port: Number(port ?? portDefault) };
}

function splitLogin(login: string): string[] {
  const colon = login.indexOf(':');
  const parts = colon === -1 ? [login, ''] : [login.slice(0, colon), login.slice(colon + 1)];
  try {
    return parts.map(decodeURIComponent);
  } catch {
    throw new Error('the user or password of a Redis address is not percent-encoded properly');
  }
}
