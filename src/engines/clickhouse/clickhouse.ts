/**
 * ClickHouse over its HTTP interface, as far as Terse needs it: questions answered as objects, statements, and inserts
 * whose body is bytes. There is nothing to keep open; the platform's `fetch` keeps the connections.
 *
 * Invariant: a request settles within its deadline, whatever the server does, and nothing waits without bound. A
 * request is sent once: the inserting caller knows whether sending the same again is harmless, and this file does not.
 */
import type { Clock } from '../../base/clock.ts';
import { withSignal } from '../../base/deadline.ts';
import { Problem } from '../../base/errors.ts';
import { Semaphore, untilAborted } from '../../base/semaphore.ts';
import type { ClickHouseAddress } from './address.ts';

export interface ClickHouseOptions {
  readonly address: ClickHouseAddress;
  readonly clock: Clock;
  readonly readMaxMs?: number;
  readonly writeMaxMs?: number;
  /** Requests under way at once, each with a connection. */
  readonly underWayMax?: number;
  /** Requests that may wait for a place. */
  readonly waitingMax?: number;
}

export type Settings = Readonly<Record<string, string | number>>;

export interface RequestOptions {
  readonly deadlineMs?: number;
  readonly settings?: Settings;
}

export interface Insert extends RequestOptions {
  readonly table: string;
  readonly format: 'Native' | 'JSONEachRow';
  readonly body: Uint8Array | string;
}

const readDefaultMs = 5_000;
const writeDefaultMs = 30_000;
const underWayDefault = 16;
const waitingDefault = 2_000;
/** An answer begins when it is complete, so that an error in the middle is one and not half an answer. */
const everywhere: Settings = {
  wait_end_of_query: 1,
  default_format: 'JSONEachRow',
  output_format_json_quote_64bit_integers: 0,
};

export class ClickHouse {
  readonly #address: ClickHouseAddress;
  readonly #clock: Clock;
  readonly #readMaxMs: number;
  readonly #writeMaxMs: number;
  readonly #slots: Semaphore;

  constructor(options: ClickHouseOptions) {
    this.#address = options.address;
    this.#clock = options.clock;
    this.#readMaxMs = options.readMaxMs ?? readDefaultMs;
    this.#writeMaxMs = options.writeMaxMs ?? writeDefaultMs;
    const { underWayMax = underWayDefault, waitingMax = waitingDefault } = options;
    const full = () => new Problem('overloaded', { detail: 'Too many requests wait for ClickHouse.' });
    this.#slots = new Semaphore({ slots: () => underWayMax, waitingMax, full });
  }

  get database(): string {
    return this.#address.database;
  }

  async rows<Row>(
    query: string,
    { deadlineMs = this.#readMaxMs, settings }: RequestOptions = {},
  ): Promise<Row[]> {
    const answer = await this.#send({ ...this.#inDatabase, ...settings }, query, deadlineMs);
    return rowsIn<Row>(answer);
  }

  async run(
    statement: string,
    { deadlineMs = this.#writeMaxMs, settings }: RequestOptions = {},
  ): Promise<void> {
    await this.#send({ ...this.#inDatabase, ...settings }, statement, deadlineMs);
  }

  /** Resolves when the rows are there for every question that is asked from now on. */
  async insert({ table, format, body, deadlineMs = this.#writeMaxMs, settings }: Insert): Promise<void> {
    const query = `INSERT INTO ${table} FORMAT ${format}`;
    await this.#send({ ...this.#inDatabase, ...settings, query, async_insert: 0 }, body, deadlineMs);
  }

  /** Creates the database unless it exists: a user that only uses it needs no permission to create it. */
  async ensureDatabase(): Promise<void> {
    const name = this.#address.database;
    // The table of databases would have to look at every one.
    const answer = await this.#send({}, `EXISTS DATABASE ${name}`, this.#readMaxMs);
    if (rowsIn<{ result: number }>(answer)[0]?.result === 0)
      await this.#send({}, `CREATE DATABASE IF NOT EXISTS ${name}`, this.#writeMaxMs);
  }

  get #inDatabase(): Settings {
    return { database: this.#address.database };
  }

  #send(parameters: Settings, body: Uint8Array | string, deadlineMs: number): Promise<string> {
    const late = () => unavailable(undefined, 'ClickHouse did not answer in time.');
    return withSignal(this.#clock, deadlineMs, signal =>
      this.#slots.run(() => this.#exchange(parameters, body, signal), untilAborted(signal, late)),
    );
  }

  async #exchange(parameters: Settings, body: Uint8Array | string, signal: AbortSignal): Promise<string> {
    const { origin, username, password } = this.#address;
    const url = new URL(origin);
    for (const [name, value] of Object.entries({ ...everywhere, ...parameters })) {
      url.searchParams.set(name, String(value));
    }
    const headers = {
      'X-ClickHouse-User': username,
      ...(password !== '' && { 'X-ClickHouse-Key': password }),
    };
    let answer: Response;
    let text: string;
    try {
      answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
      text = await answer.text();
    } catch (error) {
      throw unavailable(error, signal.aborted ? 'ClickHouse did not answer in time.' : undefined);
    }
    const code = answer.headers.get('x-clickhouse-exception-code');
    if (answer.ok && code === null) return text;
    throw refusalOf(
      code === null ? Number.NaN : Number(code),
      `${answer.status}: ${text.slice(0, 1_000).trim()}`,
    );
  }
}

/** A line for each row; within a row a line feed is always escaped. */
function rowsIn<Row>(answer: string): Row[] {
  return JSON.parse(`[${answer.trimEnd().replaceAll('\n', ',')}]`) as Row[];
}

/** A text as ClickHouse reads it in a query. Whatever comes from outside goes through here and nowhere else. */
export function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** For `IN`; nothing at all is in an empty list, which the language cannot write. */
export function quotedList(texts: readonly string[]): string {
  return texts.length === 0 ? '(NULL)' : `(${texts.map(quoted).join(', ')})`;
}

/** Numbers of what has to do with the server and not with the statement. */
const serverTroubles: ReadonlySet<number> = new Set([
  81, // no such database
  159, // it took too long
  202, // too many queries at once
  209, // its network
  210,
  236, // shutting down
  241, // out of memory
  242, // read only for now
  243, // out of disk
  252, // merging cannot keep up with inserting
  319, // whether it was inserted is not known
  394, // cancelled
  516, // authentication failed
  999, // its coordination
]);
const unknownTable = 60;

export class ClickHouseError extends Error {
  override readonly name = 'ClickHouseError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The table was dropped, or never made. */
export const isUnknownTable = (error: unknown): boolean =>
  error instanceof ClickHouseError && error.code === unknownTable;

/** What a server's refusal is to the caller. */
export function refusalOf(code: number, message: string): Error {
  const error = new ClickHouseError(code, message);
  return serverTroubles.has(code) || !Number.isInteger(code) ? unavailable(error) : error;
}

export function unavailable(cause: unknown, detail?: string): Problem {
  return new Problem('stats_unavailable', { ...(detail === undefined ? {} : { detail }), cause });
}
