/**
 * One connection to one server, by the client library. Only the library's protocol code is used: it neither reconnects
 * nor queues commands, because the owner of the connection replaces it, and it never waits longer than its timeout,
 * also for a server that was stopped and whose system still accepts connections for it.
 */
import type { Clock } from '../../base/clock.ts';
import { withinDeadline } from '../../base/deadline.ts';
import { RedisRefusal, type RedisReply, RedisUnavailable } from './redis.ts';

export interface ClientOptions {
  readonly clock: Clock;
  readonly login: Pick<RedisAddress, 'isEncrypted' | 'username' | 'password' | 'database'>;
  readonly server: ServerAddress;
  readonly onLost: (reason: string) => void;
}

export interface Client {
  send(args: readonly string[]): Promise<RedisReply>;
  /** Commands in one write; a refusal is the reply of its command, and of no other. */
  sendAll(commands: readonly (readonly string[])[]): Promise<readonly (RedisReply | RedisRefusal)[]>;
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void>;
  readonly isConnected: boolean;
  /** Ends it at once; what waits for an answer fails. */
  destroy(): void;
}

const connectMaxMs = 1_000;
/** More commands than this waiting for one server mean that it does not keep up. */
export const waitingMax = 10_000;

export async function openClient({ clock, login, server, onLost }: ClientOptions): Promise<Client> {
  // Some hundred modules, which a process without Redis should not have in memory.
  const { createClient, ErrorReply } = await import('@redis/client');
  const client = createClient({
    RESP: 3,
    socket: {
      host: server.host,
      port: server.port,
      connectTimeout: connectMaxMs,
      reconnectStrategy: false,
      ...(login.isEncrypted ? { tls: true as const } : {}),
    },
    ...(login.username === undefined ? {} : { username: login.username }),
    ...(login.password === undefined ? {} : { password: login.password }),
    database: login.database,
    commandsQueueMaxLength: waitingMax,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    // The library's own limit ends once a command is written, and costs a timer all the same.
    commandOptions: { timeout: 0 },
  });
  client.on('error', error => onLost(wordsOf(error)));
  try {
    await answerWithin(clock, connectMaxMs, client.connect());
  } catch (error) {
    client.destroy();
    throw error instanceof RedisUnavailable ? error : new RedisUnavailable(wordsOf(error), { cause: error });
  }
  const replyTo = async (args: readonly string[]): Promise<RedisReply | RedisRefusal> => {
    try {
      return (await client.sendCommand(args)) as RedisReply;
    } catch (error) {
      if (error instanceof ErrorReply) return new RedisRefusal(error.message);
      throw new RedisUnavailable(wordsOf(error), { cause: error });
    }
  };
  return {
    send: async args => {
      const reply = await replyTo(args);
      if (reply instanceof RedisRefusal) throw reply;
      return reply;
    },
    sendAll: commands => Promise.all(commands.map(replyTo)),
    subscribe: (channel, onMessage) => client.subscribe(channel, message => onMessage(message)),
    get isConnected() {
      return client.isReady;
    },
    destroy: () => client.destroy(),
  };
}

/** Settles as the answer does, or fails when that takes too long. */
export const answerWithin = <T>(clock: Clock, deadlineMs: number, answer: Promise<T>): Promise<T> =>
  withinDeadline(clock, deadlineMs, answer, () => new RedisUnavailable(`no answer within ${deadlineMs} ms`));

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A host with several addresses fails with one error for each, and no words of its own.
  if (error instanceof AggregateError && error.message === '') return wordsOf(error.errors[0]);
  return error.message === '' ? error.name : error.message;
}

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
