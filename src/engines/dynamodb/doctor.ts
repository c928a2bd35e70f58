/**
 * Checks the DynamoDB table as an operator would who knows what Terse needs of it. It uses the vendor's client
 * directly, because the engine's exact message is what helps.
 */
import {
  DeleteItemCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type TableDescription,
} from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../base/clock.ts';
import { withSignal } from '../../base/deadline.ts';
import { Findings, leastSkew, messageOf } from '../../base/finding.ts';
import type { Random } from '../../base/random.ts';
import { parseAddress } from './address.ts';
import { foreignTable } from './ensure-table.ts';
import { attributesOf } from './expressions.ts';
import { indexNames, ttlAttribute } from './table.ts';
import { createClient } from './transport.ts';

export interface DynamoExamination {
  readonly url: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly hasCredentials: boolean;
}

const answerMaxMs = 5_000;
const slowMs = 30;
const skewWarnMs = 1_000;
/** Requests are refused whose time is further off. */
const skewMaxMs = 5 * 60 * 1_000;

type Ask = <Output>(send: (abortSignal: AbortSignal) => Promise<Output>) => Promise<Output>;

export async function examineDynamo(examination: DynamoExamination): Promise<Findings['list']> {
  const { clock, hasCredentials } = examination;
  const address = parseAddress(examination.url);
  const findings = new Findings('dynamodb');
  const client = createClient(address, hasCredentials);
  const skews = watchClock(client, clock);
  const ask: Ask = send => withSignal(clock, answerMaxMs, send);
  try {
    const description = await examineTable(findings, client, address.table, ask);
    examineClock(findings, skews);
    if (description !== undefined) {
      await examineExpiry(findings, client, address.table, ask);
      await examineWriting(findings, client, address.table, ask, examination);
    }
  } catch (error) {
    findings.fail('examination', messageOf(error), adviceFor(error));
  } finally {
    client.destroy();
  }
  return findings.list;
}

/** Undefined when there is none to look at further. */
async function examineTable(
  findings: Findings,
  client: DynamoDBClient,
  table: string,
  ask: Ask,
): Promise<TableDescription | undefined> {
  let description: TableDescription | undefined;
  try {
    const command = new DescribeTableCommand({ TableName: table });
    description = (await ask(abortSignal => client.send(command, { abortSignal }))).Table;
  } catch (error) {
    const isMissing = error instanceof Error && error.name === 'ResourceNotFoundException';
    if (isMissing)
      findings.fail('table', `the table ${table} does not exist`, 'run `terse setup` to create it');
    else findings.fail('reachable', messageOf(error), adviceFor(error));
    return undefined;
  }
  const refusal = foreignTable(description ?? {}, table);
  if (refusal !== undefined) {
    findings.fail('table', refusal, 'name another table in TERSE_LINKS, which `terse setup` then makes');
    return undefined;
  }
  const status = description?.TableStatus ?? 'unknown';
  const isThere = status === 'ACTIVE' || status === 'UPDATING';
  findings.judge('table', isThere, `${table} is ${status.toLowerCase()}`, 'wait until it is active');
  const indexes = description?.GlobalSecondaryIndexes ?? [];
  const missing = indexNames.filter(name => !indexes.some(({ IndexName }) => IndexName === name));
  const building = indexes.filter(({ IndexStatus }) => (IndexStatus ?? 'ACTIVE') !== 'ACTIVE');
  if (missing.length > 0)
    findings.fail('indexes', `missing: ${missing.join(', ')}`, 'run `terse setup` to create them');
  else if (building.length > 0) {
    const names = building.map(({ IndexName }) => IndexName).join(', ');
    findings.warn('indexes', `still being built: ${names}`, 'wait: lists are not complete until then');
  } else findings.ok('indexes', `all ${indexNames.length} exist`);
  return description;
}

async function examineExpiry(
  findings: Findings,
  client: DynamoDBClient,
  table: string,
  ask: Ask,
): Promise<void> {
  const command = new DescribeTimeToLiveCommand({ TableName: table });
  const { TimeToLiveDescription: found } = await ask(abortSignal => client.send(command, { abortSignal }));
  const isOn = found?.TimeToLiveStatus === 'ENABLED' || found?.TimeToLiveStatus === 'ENABLING';
  if (isOn && found?.AttributeName === ttlAttribute)
    findings.ok('expiry', `by the attribute ${ttlAttribute}`);
  else {
    const detail = isOn ? `by the attribute ${found?.AttributeName}` : 'off: nothing is ever dropped';
    findings.warn('expiry', detail, `\`terse setup\` turns it on, by the attribute ${ttlAttribute}`);
  }
}

/** An item of its own, which needs the same permissions as Terse's items, and is deleted afterwards. */
async function examineWriting(
  findings: Findings,
  client: DynamoDBClient,
  TableName: string,
  ask: Ask,
  { clock, random }: DynamoExamination,
): Promise<void> {
  const key = attributesOf({ pk: `doctor#${random.bytes(6).toHex()}`, sk: '-' });
  const put = new PutItemCommand({ TableName, Item: key, ConditionExpression: 'attribute_not_exists(pk)' });
  const get = new GetItemCommand({ TableName, Key: key, ConsistentRead: true });
  const query = new QueryCommand({
    TableName,
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': key.pk! },
  });
  const remove = new DeleteItemCommand({ TableName, Key: key });
  try {
    await ask(abortSignal => client.send(put, { abortSignal }));
    await ask(abortSignal => client.send(query, { abortSignal }));
    const getItem = () => ask(abortSignal => client.send(get, { abortSignal }));
    await findings.latency(clock, getItem, slowMs, 'run Terse in the region of the table');
    await ask(abortSignal => client.send(remove, { abortSignal }));
    findings.ok('permissions', 'can write, read and remove');
  } catch (error) {
    await ask(abortSignal => client.send(remove, { abortSignal })).catch(() => undefined);
    findings.fail('permissions', messageOf(error), adviceFor(error));
  }
}

function examineClock(findings: Findings, skews: readonly number[]): void {
  const [skewMs] = skews;
  if (skewMs === undefined) return;
  const shown = `${Math.round(skewMs / 1_000)} s from ours`;
  const fix = 'let this machine keep time by NTP: requests that are minutes off are refused';
  if (Math.abs(skewMs) > skewMaxMs) findings.fail('clock', shown, fix);
  // Answers carry the time in whole seconds.
  else if (Math.abs(skewMs) > skewWarnMs + 1_000) findings.warn('clock', shown, fix);
  else findings.ok('clock', 'the same as ours, to the second');
}

/** Every answer bears the time at which it was given. */
function watchClock(client: DynamoDBClient, clock: Clock): number[] {
  const skews: number[] = [];
  client.middlewareStack.add(
    next => async given => {
      const askedAt = clock.now();
      const answer = await next(given);
      const { headers = {} } = answer.response as { headers?: Record<string, string> };
      const serverTime = Date.parse(headers.date ?? '');
      if (!Number.isNaN(serverTime)) skews.push(leastSkew(askedAt, serverTime, clock.now()));
      return answer;
    },
    { step: 'deserialize', priority: 'low' },
  );
  return skews;
}

function adviceFor(error: unknown): string {
  const name = error instanceof Error ? error.name : '';
  if (/AccessDenied/.test(name)) {
    return 'allow dynamodb: DescribeTable, DescribeTimeToLive, GetItem, BatchGetItem, Query, PutItem, UpdateItem, DeleteItem, BatchWriteItem and TransactWriteItems on the table and its indexes';
  }
  if (/Credential|UnrecognizedClient|InvalidSignature|Token/.test(name)) {
    return 'give the process credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role';
  }
  return 'correct the region or the endpoint in TERSE_LINKS; a firewall may be in between';
}
