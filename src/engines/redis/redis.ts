/**
 * Redis as the rest of Terse sees it: one server or a Cluster, the same few commands. Everything kept in it can be lost
 * or fetched elsewhere, so timeouts are short: every call ends by its deadline, fails at once while the server is known
 * to be down, and is never retried or redirected. Every caller has a fallback.
 */
import { createHash } from 'node:crypto';

export interface Redis {
  /** Calls made together share a round trip. */
  get(key: string, deadlineMs?: number): Promise<string | undefined>;
  set(key: string, value: string, ttlMs: number, deadlineMs?: number): Promise<void>;
  /**
   * Runs a script where its keys live. In a Cluster all of them must share a slot, which a {tag} in each makes sure of.
   */
  run(
    script: RedisScript,
    keys: readonly string[],
    values: readonly RedisValue[],
    deadlineMs?: number,
  ): Promise<RedisReply>;
  /**
   * Runs a script that takes any number of keys, each with the same number of values, and returns a reply for each of
   * them, in order. This is the call for one key; calls made together share a round trip.
   */
  runEach(
    script: RedisScript,
    key: string,
    values: readonly RedisValue[],
    deadlineMs?: number,
  ): Promise<RedisReply>;
  /** Messages of one process arrive in their order, as long as no server changes its role. */
  publish(channel: string, message: string, deadlineMs?: number): Promise<void>;
  /**
   * Listens until `close`, over a connection of its own that is reopened whenever it breaks. Messages sent in between
   * are lost.
   */
  subscribe(channel: string, onMessage: (message: string) => void): void;
  /** The server's clock, in milliseconds since the Unix epoch. */
  time(deadlineMs?: number): Promise<number>;
  /** Whether one script can have all of these keys, which in a Cluster is so when they share a slot. */
  areTogether(keys: readonly string[]): boolean;
  /** One key per server that is in use, each kept by another one: `name`, followed by a tag where there are several. */
  keyOnEach(name: string): readonly string[];

  /** Whether every server that holds a part of the keys answers. */
  readonly isAvailable: boolean;
  /** Whether the server that holds the key answers. */
  isAvailableFor(key: string): boolean;
  /**
   * A server is in use from now on: it was down, or it replaced another. It may have lost the latest writes. Called
   * before the first call is sent to it.
   */
  onAvailable(listener: () => void): void;
  /** A server answers no longer; calls for its keys fail at once until it does. */
  onDown(listener: (reason: string) => void): void;
  readonly figures: RedisFigures;
  close(): Promise<void>;
}

export type RedisValue = string | number;
export type RedisReply = string | number | null | readonly RedisReply[];

/** For the metrics. Counts only grow. */
export interface RedisFigures {
  readonly servers: number;
  readonly serversDown: number;
  /** Calls that got no answer in time, or whose connection broke. */
  readonly failures: number;
  /** Calls that were not even sent, because the server was known to be down or too many were waiting. */
  readonly refusals: number;
  /** How often a server went down. */
  readonly outages: number;
  readonly isSubscribed: boolean;
}

/** No answer, or none in time: whether the command was carried out is unknown. */
export class RedisUnavailable extends Error {
  override readonly name = 'RedisUnavailable';
}

/** The server answered with an error. `code` is its first word, such as NOSCRIPT or MOVED. */
export class RedisRefusal extends Error {
  override readonly name = 'RedisRefusal';
  readonly code: string;

  constructor(message: string) {
    super(message);
    this.code = message.split(' ', 1)[0]!;
  }
}

/** For what a visitor waits for. */
export const visitorDeadlineMs = 50;
/** For everything else. */
export const deadlineMsDefault = 250;

export interface RedisScript {
  readonly source: string;
  /** The name under which a server remembers a script that it has run. */
  readonly digest: string;
}

export function redisScript(source: string): RedisScript {
  return { source, digest: createHash('sha1').update(source).digest('hex') };
}
