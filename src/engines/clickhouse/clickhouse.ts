/**
 * ClickHouse over its HTTP interface, as far as Terse needs it: questions answered as objects, statements, and inserts
 * whose body is bytes. There is nothing to keep open; the platform's `fetch` keeps the connections.
 *
 * Invariant: a request settles within its deadline, whatever the server does, and nothing waits without bound. A request
 * is sent once: whoever inserts knows whether sending the same again is harmless, and this file does not.
 */
import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import type { ClickHouseAddress } from './address.ts';
import { refusalOf, unavailable } from './failures.ts';

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
  readonly #underWayMax: number;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(options: ClickHouseOptions) {
    this.#address = options.address;
    this.#clock = options.clock;
    this.#readMaxMs = options.readMaxMs ?? readDefaultMs;
    this.#writeMaxMs = options.writeMaxMs ?? writeDefaultMs;
    this.#underWayMax = options.underWayMax ?? underWayDefault;
    this.#waitingMax = options.waitingMax ?? waitingDefault;
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

  /** Numbers, a list for each column, and no lists where there are no rows: a fraction of the text, and of the time to read it. */
  async columns(
    query: string,
    { deadlineMs = this.#readMaxMs, settings }: RequestOptions = {},
  ): Promise<number[][]> {
    const parameters = { ...this.#inDatabase, ...settings, default_format: 'JSONCompactColumns' };
    return JSON.parse(await this.#send(parameters, query, deadlineMs)) as number[][];
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

  /** Makes the database of the address unless it is there: who may only use it need not be allowed to make it. */
  async ensureDatabase(): Promise<void> {
    const name = this.#address.database;
    const asked = `SELECT count() AS found FROM system.databases WHERE name = '${name}'`;
    const answer = await this.#send({}, asked, this.#readMaxMs);
    if (rowsIn<{ found: number }>(answer)[0]?.found === 0)
      await this.#send({}, `CREATE DATABASE IF NOT EXISTS ${name}`, this.#writeMaxMs);
  }

  get #inDatabase(): Settings {
    return { database: this.#address.database };
  }

  async #send(parameters: Settings, body: Uint8Array | string, deadlineMs: number): Promise<string> {
    const deadline = new AbortController();
    const cancel = this.#clock.after(deadlineMs, () => deadline.abort());
    try {
      await this.#enter(deadline.signal);
      try {
        return await this.#exchange(parameters, body, deadline.signal);
      } finally {
        this.#leave();
      }
    } finally {
      cancel();
    }
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

  async #enter(signal: AbortSignal): Promise<void> {
    if (this.#underWay < this.#underWayMax) {
      this.#underWay += 1;
      return;
    }
    if (this.#waiting.length >= this.#waitingMax) {
      throw new Problem('overloaded', { detail: 'Too many requests wait for ClickHouse.' });
    }
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => {
        const position = this.#waiting.indexOf(enter);
        if (position !== -1) this.#waiting.splice(position, 1);
        reject(unavailable(undefined, 'ClickHouse did not answer in time.'));
      };
      const enter = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(enter);
    });
  }

  /** The place goes to whoever has waited longest, without being free in between. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#underWay -= 1;
    else next();
  }
}

/** A line for each row; within a row a line feed is always escaped. */
function rowsIn<Row>(answer: string): Row[] {
  return JSON.parse(`[${answer.trimEnd().replaceAll('\n', ',')}]`) as Row[];
}
