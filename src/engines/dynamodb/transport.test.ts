import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import type { DynamoAddress } from './address.ts';
import { DynamoError } from './failures.ts';
import { createClient } from './transport.ts';

const unlimited = new AbortController().signal;
const environment = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const;

let requests: Request[];
let answers: (() => Response)[];
let server: ReturnType<typeof Bun.serve>;
let address: DynamoAddress;
let clock: ManualClock;
let kept: (string | undefined)[];

beforeEach(() => {
  requests = [];
  answers = [];
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      requests.push(request.clone() as Request);
      await request.arrayBuffer();
      return answers.shift()?.() ?? Response.json({});
    },
  });
  address = { table: 'terse', region: 'eu-west-1', endpoint: `http://127.0.0.1:${server.port}` };
  clock = new ManualClock();
  kept = environment.map(name => process.env[name]);
});
afterEach(async () => {
  environment.forEach((name, place) => {
    if (kept[place] === undefined) delete process.env[name];
    else process.env[name] = kept[place];
  });
  await server.stop(true);
});

const client = (hasCredentials = false) => createClient(address, { clock, hasCredentials });
const failureOf = (sent: Promise<unknown>): Promise<DynamoError> =>
  sent.then(
    () => Promise.reject(new Error('it succeeded')),
    error => error,
  );

describe('a request', () => {
  test('names its operation, carries its input as JSON, and gives the answer', async () => {
    answers.push(() => Response.json({ Item: { n: { N: '9007199254740993' } } }));
    const answer = await client().send<object>('GetItem', { TableName: 'terse' }, unlimited);
    expect(answer).toEqual({ Item: { n: { N: '9007199254740993' } } });
    const { method, headers } = requests[0]!;
    expect([method, headers.get('x-amz-target')]).toEqual(['POST', 'DynamoDB_20120810.GetItem']);
    expect(headers.get('content-type')).toBe('application/x-amz-json-1.0');
    expect(headers.get('authorization')).toContain('Credential=terse/20260101/eu-west-1/dynamodb/');
    expect(await requests[0]!.json()).toEqual({ TableName: 'terse' });
  });

  test('is signed with the credentials of the environment, as the vendor’s client finds them', async () => {
    const values = ['theid', 'thesecret', 'thetoken'];
    environment.forEach((name, place) => {
      process.env[name] = values[place]!;
    });
    await client(true).send('GetItem', {}, unlimited);
    const { headers } = requests[0]!;
    expect(requests).toHaveLength(1);
    expect(headers.get('authorization')).toContain('Credential=theid/');
    expect(headers.get('x-amz-security-token')).toBe('thetoken');
  });

  test('that is given up ends at once', async () => {
    const giveUp = new AbortController();
    const stuck = Promise.withResolvers<Response>();
    answers.push(() => {
      giveUp.abort();
      return stuck.promise as unknown as Response;
    });
    const error = await failureOf(client().send('GetItem', {}, giveUp.signal));
    expect(error.name).toBe('AbortError');
    stuck.resolve(Response.json({}));
  });
});

test('an error of the engine has its name, message, status and reasons', async () => {
  const body = {
    __type: 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException',
    message: 'cancelled',
    CancellationReasons: [{ Code: 'ConditionalCheckFailed' }, {}],
  };
  answers.push(() => Response.json(body, { status: 400 }));
  const error = await failureOf(client().send('TransactWriteItems', {}, unlimited));
  expect(error).toBeInstanceOf(DynamoError);
  expect(error).toMatchObject({ name: 'TransactionCanceledException', message: 'cancelled', status: 400 });
  expect(error.reasons).toEqual(['ConditionalCheckFailed', 'None']);
});

test('after a refusal by an engine whose clock is far off, requests have the time of the engine', async () => {
  const engineTime = clock.now() + 3_600_000;
  const date = new Date(engineTime).toUTCString();
  answers.push(() =>
    Response.json({ __type: '#InvalidSignatureException' }, { status: 400, headers: { date } }),
  );
  const one = client();
  expect((await failureOf(one.send('GetItem', {}, unlimited))).name).toBe('InvalidSignatureException');
  await one.send('GetItem', {}, unlimited);
  expect(requests.map(({ headers }) => headers.get('x-amz-date'))).toEqual([
    '20260101T000000Z',
    '20260101T010000Z',
  ]);
});
