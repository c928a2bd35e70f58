/**
 * How the table comes to be: whatever of it is missing is made, what is there stays, and it is said what was done. Safe
 * when several processes do it at once, and it needs no permission to make anything where nothing is missing. Indexes
 * are built one at a time, as the engine demands, while the table is in use.
 */
import type { GlobalSecondaryIndex, TableDescription, TimeToLiveDescription } from '@aws-sdk/client-dynamodb';
import { type Clock, sleep } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import type { DynamoCalls } from './calls.ts';
import { type IndexName, indexNames, tableIndexes, ttlAttribute } from './queries.ts';
import type { DynamoClient } from './transport.ts';

export interface TableAccess {
  readonly table: string;
  readonly client: DynamoClient;
  readonly calls: DynamoCalls;
  readonly clock: Clock;
}

const pollMs = 500;
/** Building an index over a table of many links takes hours; after this long the caller checks again later. */
const waitMaxMs = 60_000;

/** Adds what was done to `done`, in lines for the operator, and returns it; none when everything was there. */
export async function ensureTable(access: TableAccess, done: string[] = []): Promise<string[]> {
  const { table, clock } = access;
  const untilMs = clock.monotonicMs() + waitMaxMs;
  let description = await describe(access);
  if (description === undefined) {
    if (await create(access)) done.push(`made the table ${table} with ${indexNames.length} indexes`);
    description = await describe(access);
  }
  for (; ; description = await describe(access)) {
    const missing = description && missingIndexes(description, table);
    const isBusy = description?.TableStatus !== 'ACTIVE' || isBuilding(description);
    if (missing?.length === 0 && !isBusy) break;
    const [index] = missing ?? [];
    if (!isBusy && index !== undefined && (await addIndex(access, index)))
      done.push(`made the index ${index}`);
    if (clock.monotonicMs() >= untilMs) {
      throw new Error(`the DynamoDB table ${table} is still being built; try again in a while`);
    }
    await sleep(clock, pollMs);
  }
  if (await enableExpiry(access)) done.push(`turned expiry on, by the attribute ${ttlAttribute}`);
  return done;
}

function ask<Output>(
  { table, client, calls }: TableAccess,
  operation: string,
  input: object = {},
): Promise<Output> {
  const named = { TableName: table, ...input };
  return calls.run('table', signal => client.send<Output>(operation, named, signal));
}

async function describe(access: TableAccess): Promise<TableDescription | undefined> {
  try {
    return (await ask<{ Table?: TableDescription }>(access, 'DescribeTable')).Table;
  } catch (error) {
    if (isNamed(error, 'ResourceNotFoundException')) return undefined;
    throw error;
  }
}

async function create(access: TableAccess): Promise<boolean> {
  const attributes = new Map<string, 'S' | 'N'>([
    ['pk', 'S'],
    ['sk', 'S'],
  ]);
  for (const name of indexNames) for (const [key, type] of keyTypes(name)) attributes.set(key, type);
  const input = {
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: definitions(attributes),
    KeySchema: keySchema('pk', 'sk'),
    GlobalSecondaryIndexes: indexNames.map(indexInput),
  };
  return await unless(isDoneByAnother, () => ask(access, 'CreateTable', input));
}

async function addIndex(access: TableAccess, name: IndexName): Promise<boolean> {
  const input = {
    AttributeDefinitions: definitions(keyTypes(name)),
    GlobalSecondaryIndexUpdates: [{ Create: indexInput(name) }],
  };
  return await unless(isDoneByAnother, () => ask(access, 'UpdateTable', input));
}

async function enableExpiry(access: TableAccess): Promise<boolean> {
  const { TimeToLiveDescription: found } = await ask<{ TimeToLiveDescription?: TimeToLiveDescription }>(
    access,
    'DescribeTimeToLive',
  );
  if (found?.TimeToLiveStatus === 'ENABLED' || found?.TimeToLiveStatus === 'ENABLING') return false;
  const TimeToLiveSpecification = { AttributeName: ttlAttribute, Enabled: true };
  return await unless(isDoneByAnother, () => ask(access, 'UpdateTimeToLive', { TimeToLiveSpecification }));
}

/** Why a table is not one of Terse's; undefined when it may be. */
export function foreignTable(
  { KeySchema }: Pick<TableDescription, 'KeySchema'>,
  table: string,
): string | undefined {
  const keys = KeySchema?.map(({ AttributeName }) => AttributeName).join();
  if (keys === 'pk,sk') return undefined;
  return `the DynamoDB table ${table} has the keys ${keys} instead of pk,sk: it is not one of Terse's`;
}

/** A table that Terse did not make is rejected before anything is written. */
function missingIndexes(
  { KeySchema, GlobalSecondaryIndexes = [] }: TableDescription,
  table: string,
): IndexName[] {
  const refusal = foreignTable({ KeySchema }, table);
  if (refusal !== undefined) throw new Error(refusal);
  const present = new Set(GlobalSecondaryIndexes.map(({ IndexName }) => IndexName));
  return indexNames.filter(name => !present.has(name));
}

const isBuilding = ({ GlobalSecondaryIndexes = [] }: TableDescription): boolean =>
  GlobalSecondaryIndexes.some(({ IndexStatus }) => IndexStatus !== undefined && IndexStatus !== 'ACTIVE');

function indexInput(IndexName: IndexName): GlobalSecondaryIndex {
  const { pk, sk } = tableIndexes[IndexName];
  // What is found is looked up in the table: so an index is as small as it can be, and shows nothing outdated.
  return { IndexName, KeySchema: keySchema(pk, sk), Projection: { ProjectionType: 'KEYS_ONLY' } };
}

const keyTypes = (name: IndexName): Map<string, 'S' | 'N'> =>
  new Map([
    [tableIndexes[name].pk, 'S'],
    [tableIndexes[name].sk, tableIndexes[name].skType],
  ]);

const keySchema = (pk: string, sk: string) => [
  { AttributeName: pk, KeyType: 'HASH' as const },
  { AttributeName: sk, KeyType: 'RANGE' as const },
];

const definitions = (attributes: ReadonlyMap<string, 'S' | 'N'>) =>
  Array.from(attributes, ([AttributeName, AttributeType]) => ({ AttributeName, AttributeType }));

/** False when the work failed in the way that is expected. */
async function unless(
  isExpected: (error: unknown) => boolean,
  work: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (isExpected(error)) return false;
    throw error;
  }
}

/** Another process came first, or the engine is busy with what another has asked for. */
function isDoneByAnother(error: unknown): boolean {
  if (isNamed(error, 'ResourceInUseException') || isNamed(error, 'LimitExceededException')) return true;
  const isRefused = isNamed(error, 'ValidationException');
  return isRefused && /already (?:exists|enabled|being)/.test((error as Error).message);
}

/** What the engine said, also where it was wrapped on the way here. */
function isNamed(error: unknown, name: string): boolean {
  const said = error instanceof Problem ? error.cause : error;
  return said instanceof Error && said.name === name;
}
