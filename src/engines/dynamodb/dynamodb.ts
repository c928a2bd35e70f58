/**
 * DynamoDB as the drivers see it: one table, plain values, conditions that hold or do not. Deadlines, throttling,
 * conflicts between transactions and what the engine left unprocessed are handled below this interface, so a driver
 * gets an answer or a `Problem`.
 */
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DeleteItemCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  type WriteRequest,
} from '@aws-sdk/client-dynamodb';
import { backoffMs } from '../../base/backoff.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { inParallel } from '../../base/in-parallel.ts';
import type { Random } from '../../base/random.ts';
import { parseAddress } from './address.ts';
import { type CallOptions, DynamoCalls } from './calls.ts';
import { ensureTable } from './ensure-table.ts';
import {
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
import { createClient } from './transport.ts';

export type { Condition, Item, Key, PutItem, RemoveItem, TransactItem, UpdateItem } from './expressions.ts';
export type { Query } from './queries.ts';

export interface Dynamo {
  /** The newest state of an item, or, `near`, one that may be a moment old at half the price. */
  get<Row>(key: Key, options?: { readonly near?: boolean }): Promise<Row | undefined>;
  /** The newest state of each, in the order asked for. */
  getMany<Row>(keys: readonly Key[]): Promise<(Row | undefined)[]>;
  query<Row>(query: Query): Promise<QueryPage<Row>>;
  /** All there is, in no order, page by page: for copying an installation, never for a request. */
  scan<Row>(scan: Scan): Promise<QueryPage<Row>>;
  /** How many items there are, by an account of the engine's own that may be hours old. */
  itemCount(): Promise<number>;
  /** One write; false when its condition did not hold. */
  write(item: PutItem | UpdateItem | RemoveItem): Promise<boolean>;
  /** What the item was before or is after; undefined when the condition did not hold. */
  update<Row>(item: UpdateItem, gives: 'old' | 'new'): Promise<Partial<Row> | undefined>;
  /** All of the writes or none; `failed` are the positions of those whose conditions did not hold. */
  transact(items: readonly TransactItem[]): Promise<TransactOutcome>;
  /** Any number of writes without conditions, each by itself. */
  batchWrite(items: readonly (Pick<PutItem, 'put'> | Pick<RemoveItem, 'remove'>)[]): Promise<void>;
  /** Makes the table and whatever of it is missing; adds what it did to `done`, and returns it. */
  ensureTable(done?: string[]): Promise<string[]>;
  /** Calls repeated so far because the engine asked for it. */
  readonly retries: number;
  close(): void;
}

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
const batchGetMax = 100;
const batchWriteMax = 25;
const batchesAtOnce = 4;
/** Rounds in which the engine may leave a part of a batch undone; the last ones are more than ten seconds apart. */
const batchRoundsMax = 12;
const roundDelay = { minMs: 20, maxMs: 2_000 };

export function openDynamo(url: string, options: DynamoOptions): Dynamo {
  const address = parseAddress(url);
  const client = createClient(address, options.hasCredentials ?? false);
  return new TableClient(client, address.table, options);
}

class TableClient implements Dynamo {
  readonly #client: DynamoDBClient;
  readonly #table: string;
  readonly #calls: DynamoCalls;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(client: DynamoDBClient, table: string, options: DynamoOptions) {
    this.#client = client;
    this.#table = table;
    this.#calls = new DynamoCalls(options);
    this.#clock = options.clock;
    this.#random = options.random;
  }

  get retries(): number {
    return this.#calls.retries;
  }

  async get<Row>(key: Key, { near = false }: { readonly near?: boolean } = {}): Promise<Row | undefined> {
    const Key = attributesOf(keyOf(key));
    const command = new GetItemCommand({ TableName: this.#table, Key, ConsistentRead: !near });
    const { Item } = await this.#calls.run('read', signal =>
      this.#client.send(command, { abortSignal: signal }),
    );
    return Item === undefined ? undefined : valuesOf<Row>(Item);
  }

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
    let pending = keys.map(key => attributesOf(keyOf(key)));
    await this.#inRounds(async () => {
      const request = { [this.#table]: { Keys: pending, ConsistentRead: true } };
      const command = new BatchGetItemCommand({ RequestItems: request });
      const answer = await this.#calls.run('read', signal =>
        this.#client.send(command, { abortSignal: signal }),
      );
      for (const item of answer.Responses?.[this.#table] ?? []) rows.push(valuesOf<Row>(item));
      pending = answer.UnprocessedKeys?.[this.#table]?.Keys ?? [];
      return pending.length === 0;
    });
    return rows;
  }

  async query<Row>(query: Query): Promise<QueryPage<Row>> {
    const command = new QueryCommand(queryInput(this.#table, query));
    const answer = await this.#calls.run('read', signal =>
      this.#client.send(command, { abortSignal: signal }),
    );
    return { items: (answer.Items ?? []).map(item => valuesOf<Row>(item)), next: answer.LastEvaluatedKey };
  }

  async scan<Row>(scan: Scan): Promise<QueryPage<Row>> {
    const command = new ScanCommand(scanInput(this.#table, scan));
    const answer = await this.#calls.run('read', signal =>
      this.#client.send(command, { abortSignal: signal }),
    );
    return { items: (answer.Items ?? []).map(item => valuesOf<Row>(item)), next: answer.LastEvaluatedKey };
  }

  async itemCount(): Promise<number> {
    const command = new DescribeTableCommand({ TableName: this.#table });
    const answer = await this.#calls.run('table', signal =>
      this.#client.send(command, { abortSignal: signal }),
    );
    return answer.Table?.ItemCount ?? 0;
  }

  async write(item: PutItem | UpdateItem | RemoveItem): Promise<boolean> {
    return (
      (await this.#unlessRefused(() => this.#calls.run('write', signal => this.#send(item, signal)))) ===
      'done'
    );
  }

  async #send(item: PutItem | UpdateItem | RemoveItem, abortSignal: AbortSignal): Promise<'done'> {
    const { put, update, remove } = {
      put: (one: PutItem) => new PutItemCommand(putInput(this.#table, one)),
      update: (one: UpdateItem) => new UpdateItemCommand(updateInput(this.#table, one)),
      remove: (one: RemoveItem) => new DeleteItemCommand(removeInput(this.#table, one)),
    };
    if ('put' in item) await this.#client.send(put(item), { abortSignal });
    else if ('update' in item) await this.#client.send(update(item), { abortSignal });
    else await this.#client.send(remove(item), { abortSignal });
    return 'done';
  }

  async update<Row>(item: UpdateItem, gives: 'old' | 'new'): Promise<Partial<Row> | undefined> {
    const ReturnValues = gives === 'old' ? 'ALL_OLD' : 'ALL_NEW';
    const command = new UpdateItemCommand({ ...updateInput(this.#table, item), ReturnValues });
    const answer = await this.#unlessRefused(() =>
      this.#calls.run('write', signal => this.#client.send(command, { abortSignal: signal })),
    );
    return answer && valuesOf<Partial<Row>>(answer.Attributes ?? {});
  }

  async transact(items: readonly TransactItem[]): Promise<TransactOutcome> {
    const command = new TransactWriteItemsCommand({
      TransactItems: items.map(item => transactInput(this.#table, item)),
      // With it the engine recognizes the retry of a transaction that was done but whose answer was lost.
      ClientRequestToken: Buffer.from(this.#random.bytes(18)).toString('base64url'),
    });
    try {
      await this.#calls.run('write', signal => this.#client.send(command, { abortSignal: signal }));
      return { kind: 'done' };
    } catch (error) {
      if (failureOf(error) !== 'refused') throw error;
      return { kind: 'refused', failed: refusedItems(error) };
    }
  }

  async batchWrite(items: readonly (Pick<PutItem, 'put'> | Pick<RemoveItem, 'remove'>)[]): Promise<void> {
    const chunks = chunksOf(items.map(batchRequest), batchWriteMax);
    await inParallel(chunks.length, batchesAtOnce, async position => {
      let pending: WriteRequest[] = chunks[position]!;
      await this.#inRounds(async () => {
        const command = new BatchWriteItemCommand({ RequestItems: { [this.#table]: pending } });
        const answer = await this.#calls.run('write', signal =>
          this.#client.send(command, { abortSignal: signal }),
        );
        pending = answer.UnprocessedItems?.[this.#table] ?? [];
        return pending.length === 0;
      });
    });
  }

  /** Retries the unprocessed part of a batch, which is how the engine throttles. */
  async #inRounds(round: () => Promise<boolean>): Promise<void> {
    for (let rounds = 1; !(await round()); rounds += 1) {
      if (rounds === batchRoundsMax) {
        throw new Problem('store_unavailable', {
          detail: 'DynamoDB repeatedly left a part of a batch unprocessed.',
        });
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

  ensureTable(done?: string[]): Promise<string[]> {
    const [table, client, calls, clock] = [this.#table, this.#client, this.#calls, this.#clock];
    return ensureTable({ table, client, calls, clock }, done);
  }

  close(): void {
    this.#client.destroy();
  }
}

const nameOf = ({ pk, sk }: Key): string => JSON.stringify([pk, sk]);

function batchRequest(item: Pick<PutItem, 'put'> | Pick<RemoveItem, 'remove'>): WriteRequest {
  if ('put' in item) return { PutRequest: { Item: attributesOf(item.put) } };
  return { DeleteRequest: { Key: attributesOf(keyOf(item.remove)) } };
}

function chunksOf<Value>(values: readonly Value[], size: number): Value[][] {
  const count = Math.ceil(values.length / size);
  return Array.from({ length: count }, (_, chunk) => values.slice(chunk * size, (chunk + 1) * size));
}
