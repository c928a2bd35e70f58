/**
 * Checks the DynamoDB table as an operator would who knows what Terse needs of it. It asks the engine without retries,
 * because the engine's exact message is what helps.
 */
import type { TableDescription, TimeToLiveDescription } from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../base/clock.ts';
import { withSignal } from '../../base/deadline.ts';
import { Findings, leastSkew, messageOf } from '../../base/finding.ts';
import type { Random } from '../../base/random.ts';
import { parseAddress } from './address.ts';
import { foreignTable } from './ensure-table.ts';
import { attributesOf } from './expressions.ts';
import { indexNames, ttlAttribute } from './queries.ts';
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

type Ask = <Output>(operation: string, input?: object) => Promise<Output>;

export async function examineDynamo(examination: DynamoExamination): Promise<Findings['list']> {
  const { clock, hasCredentials } = examination;
  const address = parseAddress(examination.url);
  const findings = new Findings('dynamodb');
  const skews: number[] = [];
  const client = createClient(address, {
    clock,
    hasCredentials,
    onTime: (engineTime, sentAt) => skews.push(leastSkew(sentAt, engineTime, clock.now())),
  });
  const ask: Ask = (operation, input = {}) =>
    withSignal(clock, answerMaxMs, signal =>
      client.send(operation, { TableName: address.table, ...input }, signal),
    );
  try {
    const description = await examineTable(findings, address.table, ask);
    examineClock(findings, skews);
    if (description !== undefined) {
      await examineExpiry(findings, ask);
      await examineWriting(findings, ask, examination);
    }
  } catch (error) {
    findings.fail('examination', messageOf(error), adviceFor(error));
  }
  return findings.list;
}

/** Undefined when there is none to look at further. */
async function examineTable(
  findings: Findings,
  table: string,
  ask: Ask,
): Promise<TableDescription | undefined> {
  let description: TableDescription | undefined;
  try {
    description = (await ask<{ Table?: TableDescription }>('DescribeTable')).Table;
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

async function examineExpiry(findings: Findings, ask: Ask): Promise<void> {
  const { TimeToLiveDescription: found } = await ask<{ TimeToLiveDescription?: TimeToLiveDescription }>(
    'DescribeTimeToLive',
  );
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
  ask: Ask,
  { clock, random }: DynamoExamination,
): Promise<void> {
  const Key = attributesOf({ pk: `doctor#${random.bytes(6).toHex()}`, sk: '-' });
  const remove = () => ask('DeleteItem', { Key });
  try {
    await ask('PutItem', { Item: Key, ConditionExpression: 'attribute_not_exists(pk)' });
    await ask('Query', {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': Key.pk! },
    });
    const getItem = () => ask('GetItem', { Key, ConsistentRead: true });
    await findings.latency(clock, getItem, slowMs, 'run Terse in the region of the table');
    await remove();
    findings.ok('permissions', 'can write, read and remove');
  } catch (error) {
    await remove().catch(() => undefined);
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
