/**
 * DynamoDB as the drivers see it: one table, plain values, conditions that hold or do not. Deadlines, throttling,
 * conflicts between transactions and what the engine left unprocessed are handled below this interface, so a driver
 * gets an answer or a `Problem`.
 */
import { backoffMs } from '../../base/backoff.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { inParallel } from '../../base/in-parallel.ts';
import type { Random } from '../../base/random.ts';
import { parseAddress } from './address.ts';
import { type CallKind, type CallOptions, DynamoCalls } from './calls.ts';
import { ensureTable } from './ensure-table.ts';
import {
  type Attributes,
  attributesOf,
  type Key,
  keyOf,
  type PutItem,
  putInput,
  type RemoveItem,
  removeInput,
  type TransactItem,
  transactInput,
  type UpdateItem,
  updateInput,
  valuesOf,
} from './expressions.ts';
import { failureOf, refusedItems } from './failures.ts';
import { type Query, type QueryPage, queryInput, type Scan, scanInput } from './queries.ts';
import { createClient, type DynamoClient } from './transport.ts';

export type { Condition, Item, Key, PutItem, RemoveItem, TransactItem, UpdateItem } from './expressions.ts';
export type { Query } from './queries.ts';

export interface GetBatchOptions {
  readonly near: boolean;
  readonly deadlineMs: number;
}

type Later<Row> = Row | Promise<Row | undefined>;

export type TransactOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly failed: readonly number[] };

export interface DynamoOptions extends CallOptions {
  /**
   * Whether the environment holds credentials; without them an engine with an address of its own is given made-up ones.
   */
  readonly hasCredentials?: boolean;
}

/** Both numbers are the engine's. */
export const batchGetMax = 100;
const batchWriteMax = 25;
const batchesAtOnce = 4;
/** Rounds in which the engine may leave a part of a batch undone; the last ones are more than ten seconds apart. */
const batchRoundsMax = 12;
const roundDelay = { minMs: 20, maxMs: 2_000 };

export function openDynamo(url: string, options: DynamoOptions): Dynamo {
  const address = parseAddress(url);
  const { clock, hasCredentials = false } = options;
  const client = createClient(address, { clock, hasCredentials });
  return new Dynamo(client, address.table, options);
}

export class Dynamo {
  readonly #client: DynamoClient;
  readonly #table: string;
  readonly #calls: DynamoCalls;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(client: DynamoClient, table: string, options: DynamoOptions) {
    this.#client = client;
    this.#table = table;
    this.#calls = new DynamoCalls(options);
    this.#clock = options.clock;
    this.#random = options.random;
  }

  /** Calls repeated so far because the engine asked for it. */
  get retries(): number {
    return this.#calls.retries;
  }

  /** For waiting and reading. */
  get readDeadlineMs(): number {
    return this.#calls.deadlineMs.read;
  }

  #send<Output>(kind: CallKind, operation: string, input: object, deadlineMs?: number): Promise<Output> {
    return this.#calls.run(kind, signal => this.#client.send<Output>(operation, input, signal), deadlineMs);
  }

  /** The newest state of an item. */
  async get<Row>(key: Key): Promise<Row | undefined> {
    const input = { TableName: this.#table, Key: attributesOf(keyOf(key)), ConsistentRead: true };
    const { Item } = await this.#send<{ Item?: Attributes }>('read', 'GetItem', input);
    return Item === undefined ? undefined : valuesOf<Row>(Item);
  }

  /** The newest state of each, in the order asked for. */
  async getMany<Row>(keys: readonly Key[]): Promise<(Row | undefined)[]> {
    const found = new Map<string, Row>();
    // The engine refuses a batch that names an item twice.
    const unique = [...new Map(keys.map(key => [nameOf(key), key])).values()];
    const chunks = chunksOf(unique, batchGetMax);
    await inParallel(chunks.length, batchesAtOnce, async position => {
      for (const row of await this.#getBatch<Row & Key>(chunks[position]!)) found.set(nameOf(row), row);
    });
    return keys.map(key => found.get(nameOf(key)));
  }

  async #getBatch<Row>(keys: readonly Key[]): Promise<Row[]> {
    const rows: Row[] = [];
    let pending: readonly Attributes[] = keys.map(key => attributesOf(keyOf(key)));
    await this.#inRounds(async () => {
      const answer = await this.#batchGet(pending, true);
      for (const item of answer.items) rows.push(valuesOf<Row>(item));
      pending = answer.unprocessed;
      return pending.length === 0;
    });
    return rows;
  }

  /**
   * Up to `batchGetMax` distinct items by the `pk` of their keys, in one call; a promise of one that the engine has left
   * for later. `near` gives states that may be a moment old, at half the price.
   */
  async getBatch<Row>(keys: readonly Key[], options: GetBatchOptions): Promise<Map<string, Later<Row>>> {
    const endMs = this.#clock.monotonicMs() + options.deadlineMs;
    const pending = keys.map(key => attributesOf(keyOf(key)));
    return this.#getUntil(pending, options.near, endMs, 1);
  }

  /** What is left unprocessed comes later, so that no other item has to wait for it. */
  async #getUntil<Row>(
    pending: readonly Attributes[],
    near: boolean,
    endMs: number,
    round: number,
  ): Promise<Map<string, Later<Row>>> {
    const { items, unprocessed } = await this.#batchGet(pending, !near, endMs - this.#clock.monotonicMs());
    const rows = new Map<string, Later<Row>>();
    for (const item of items) rows.set(item.pk!.S!, valuesOf<Row>(item));
    if (unprocessed.length === 0) return rows;
    const waitMs = Math.ceil(this.#random.float() * backoffMs(round, roundDelay));
    const rest = sleep(this.#clock, waitMs).then(() => {
      if (this.#clock.monotonicMs() >= endMs) throw leftUnprocessed();
      return this.#getUntil<Row>(unprocessed, near, endMs, round + 1);
    });
    for (const { pk } of unprocessed)
      rows.set(
        pk!.S!,
        rest.then(later => later.get(pk!.S!)),
      );
    return rows;
  }

  async #batchGet(Keys: readonly Attributes[], ConsistentRead: boolean, deadlineMs?: number) {
    const input = { RequestItems: { [this.#table]: { Keys, ConsistentRead } } };
    const { Responses, UnprocessedKeys } = await this.#send<{
      Responses?: Record<string, Attributes[]>;
      UnprocessedKeys?: Record<string, { Keys?: Attributes[] }>;
    }>('read', 'BatchGetItem', input, deadlineMs);
    return {
      items: Responses?.[this.#table] ?? [],
      unprocessed: UnprocessedKeys?.[this.#table]?.Keys ?? [],
    };
  }

  query<Row>(query: Query): Promise<QueryPage<Row>> {
    return this.#page('Query', queryInput(this.#table, query));
  }

  /** All there is, in no order, page by page: for copying an installation, never for a request. */
  scan<Row>(scan: Scan): Promise<QueryPage<Row>> {
    return this.#page('Scan', scanInput(this.#table, scan));
  }

  async #page<Row>(operation: 'Query' | 'Scan', input: object): Promise<QueryPage<Row>> {
    const { Items = [], LastEvaluatedKey: next } = await this.#send<{
      Items?: Attributes[];
      LastEvaluatedKey?: Attributes;
    }>('read', operation, input);
    return { items: Items.map(item => valuesOf<Row>(item)), next };
  }

  /** How many items there are, by an account of the engine's own that may be hours old. */
  async itemCount(): Promise<number> {
    const input = { TableName: this.#table };
    const { Table } = await this.#send<{ Table?: { ItemCount?: number } }>('table', 'DescribeTable', input);
    return Table?.ItemCount ?? 0;
  }

  /** One write; false when its condition did not hold. */
  async write(item: PutItem | UpdateItem | RemoveItem): Promise<boolean> {
    const table = this.#table;
    const send = (operation: string, input: object): Promise<object> => this.#send('write', operation, input);
    const answer = await this.#unlessRefused(() => {
      if ('put' in item) return send('PutItem', putInput(table, item));
      if ('update' in item) return send('UpdateItem', updateInput(table, item));
      return send('DeleteItem', removeInput(table, item));
    });
    return answer !== undefined;
  }

  /** What the item was before or is after; undefined when the condition did not hold. */
  async update<Row>(item: UpdateItem, gives: 'old' | 'new'): Promise<Partial<Row> | undefined> {
    const ReturnValues = gives === 'old' ? 'ALL_OLD' : 'ALL_NEW';
    const input = { ...updateInput(this.#table, item), ReturnValues };
    const answer = await this.#unlessRefused(() =>
      this.#send<{ Attributes?: Attributes }>('write', 'UpdateItem', input),
    );
    return answer && valuesOf<Partial<Row>>(answer.Attributes ?? {});
  }

  /** All of the writes or none; `failed` are the positions of those whose conditions did not hold. */
  async transact(items: readonly TransactItem[]): Promise<TransactOutcome> {
    const input = {
      TransactItems: items.map(item => transactInput(this.#table, item)),
      // With it the engine recognizes the retry of a transaction that was done but whose answer was lost.
      ClientRequestToken: Buffer.from(this.#random.bytes(18)).toString('base64url'),
    };
    try {
      await this.#send('write', 'TransactWriteItems', input);
      return { kind: 'done' };
    } catch (error) {
      if (failureOf(error) !== 'refused') throw error;
      return { kind: 'refused', failed: refusedItems(error) };
    }
  }

  /** Any number of writes without conditions, each by itself. */
  async batchWrite(items: readonly (Pick<PutItem, 'put'> | Pick<RemoveItem, 'remove'>)[]): Promise<void> {
    const chunks = chunksOf(items.map(batchRequest), batchWriteMax);
    await inParallel(chunks.length, batchesAtOnce, async position => {
      let pending: readonly object[] = chunks[position]!;
      await this.#inRounds(async () => {
        const input = { RequestItems: { [this.#table]: pending } };
        const { UnprocessedItems } = await this.#send<{ UnprocessedItems?: Record<string, object[]> }>(
          'write',
          'BatchWriteItem',
          input,
        );
        pending = UnprocessedItems?.[this.#table] ?? [];
        return pending.length === 0;
      });
    });
  }

  /** Retries the unprocessed part of a batch, which is how the engine throttles. */
  async #inRounds(round: () => Promise<boolean>): Promise<void> {
    for (let rounds = 1; !(await round()); rounds += 1) {
      if (rounds === batchRoundsMax) {
        throw leftUnprocessed();
      }
      await sleep(this.#clock, Math.ceil(this.#random.float() * backoffMs(rounds, roundDelay)));
    }
  }

  async #unlessRefused<Output>(work: () => Promise<Output>): Promise<Output | undefined> {
    try {
      return await work();
    } catch (error) {
      if (failureOf(error) === 'refused') return undefined;
      throw error;
    }
  }

  /** Makes the table and whatever of it is missing; adds what it did to `done`, and returns it. */
  ensureTable(done?: string[]): Promise<string[]> {
    const [table, client, calls, clock] = [this.#table, this.#client, this.#calls, this.#clock];
    return ensureTable({ table, client, calls, clock }, done);
  }

  /** Connections are the platform's, and end by themselves. */
  close(): void {}
}

const leftUnprocessed = (): Problem =>
  new Problem('store_unavailable', { detail: 'DynamoDB repeatedly left a part of a batch unprocessed.' });

const nameOf = ({ pk, sk }: Key): string => JSON.stringify([pk, sk]);

function batchRequest(item: Pick<PutItem, 'put'> | Pick<RemoveItem, 'remove'>): object {
  if ('put' in item) return { PutRequest: { Item: attributesOf(item.put) } };
  return { DeleteRequest: { Key: attributesOf(keyOf(item.remove)) } };
}

function chunksOf<Value>(values: readonly Value[], size: number): Value[][] {
  const count = Math.ceil(values.length / size);
  return Array.from({ length: count }, (_, chunk) => values.slice(chunk * size, (chunk + 1) * size));
}
