/**
 * A proxy before DynamoDB Local that answers some calls with the real errors of DynamoDB under throttling, conflicts
 * and faults, which DynamoDB Local never returns.
 */
export type DynamoFault =
  /** The call exceeds the capacity of the table or of a partition. */
  | 'throttled'
  /** The call exceeds the capacity of the account. */
  | 'limit-exceeded'
  /** Another transaction is writing the item. */
  | 'conflict'
  /** The same for a transaction, which is cancelled as a whole. */
  | 'cancelled'
  /** Half of a batch is left undone. */
  | 'unprocessed'
  /** All of a batch is left undone. */
  | 'undone'
  /** The call is executed, but answered with an error. */
  | 'answer-lost';

export interface MeteredCall {
  readonly operation: string;
  readonly body: string;
  readonly rcu: number;
  readonly wcu: number;
}

export interface DynamoProxy {
  /** The address of the same table through here. */
  readonly url: string;
  /** Makes the next `times` calls of this operation fail; later ones pass. */
  fault(operation: string, fault: DynamoFault, times: number): void;
  /** How often an operation was called. */
  calls(operation: string): number;
  /** The request bodies, as JSON. */
  readonly bodies: readonly string[];
  /** What the calls that read or wrote items cost, in the order of their answers; from `meter` on. */
  meter(): readonly MeteredCall[];
  stop(): Promise<void>;
}

type Json = Record<string, unknown>;
interface Batch {
  RequestItems: Record<string, unknown[] | { Keys: unknown[]; ConsistentRead?: boolean }>;
}

export function startDynamoProxy(tableUrl: string): DynamoProxy {
  const target = new URL(tableUrl);
  const endpoint = target.searchParams.get('endpoint')!;
  const bodies: string[] = [];
  const counts = new Map<string, number>();
  const faults = new Map<string, { fault: DynamoFault; left: number }>();
  let metered: MeteredCall[] | undefined;

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const operation = request.headers.get('x-amz-target')?.split('.')[1] ?? '';
      counts.set(operation, (counts.get(operation) ?? 0) + 1);
      const body = await request.text();
      bodies.push(body);
      const forward = async (text = body): Promise<Response> => {
        const headers = new Headers(request.headers);
        headers.delete('content-length');
        const isMetered = metered !== undefined && /Item|Query/.test(operation);
        const asked = isMetered ? `${text.slice(0, -1)},"ReturnConsumedCapacity":"INDEXES"}` : text;
        const answer = await fetch(endpoint, { method: 'POST', headers, body: asked });
        const answered = await answer.text();
        if (isMetered && answer.ok) metered?.push({ operation, body, ...unitsOf(operation, body, answered) });
        return new Response(answered, { status: answer.status, headers: jsonHeaders });
      };
      const planned = faults.get(operation);
      if (planned === undefined || planned.left === 0) return forward();
      planned.left -= 1;
      if (planned.fault === 'unprocessed') return halfOf(JSON.parse(body) as Batch, forward);
      if (planned.fault === 'undone') return Response.json(noneOf(JSON.parse(body) as Batch));
      if (planned.fault === 'answer-lost') await forward();
      return refusal(planned.fault, JSON.parse(body) as Json);
    },
  });
  target.searchParams.set('endpoint', `http://127.0.0.1:${server.port}`);
  return {
    url: target.href,
    fault: (operation, fault, times) => void faults.set(operation, { fault, left: times }),
    bodies,
    meter: () => (metered = []),
    calls: operation => counts.get(operation) ?? 0,
    stop: () => server.stop(true),
  };
}

interface Consumed {
  readonly CapacityUnits: number;
  readonly GlobalSecondaryIndexes?: Record<string, { CapacityUnits: number }>;
}

interface Asked {
  readonly ConsistentRead?: boolean;
  readonly RequestItems?: Record<string, { Keys: unknown[]; ConsistentRead?: boolean }>;
  readonly TransactItems?: { Put?: { Item: Json } }[];
}

/**
 * As DynamoDB Local says, except where it does not count as DynamoDB documents it: a transaction costs two units for
 * each kilobyte of each item, and what is not found is not free.
 */
function unitsOf(operation: string, body: string, answer: string): Pick<MeteredCall, 'rcu' | 'wcu'> {
  const { ConsumedCapacity } = JSON.parse(answer) as { ConsumedCapacity: Consumed | Consumed[] };
  const [said] = [ConsumedCapacity].flat();
  const units = said?.CapacityUnits ?? 0;
  const { RequestItems = {}, TransactItems = [], ...asked } = JSON.parse(body) as Asked;
  if (/Get|Query/.test(operation)) {
    const [batch = { Keys: [0], ...asked }] = Object.values(RequestItems);
    return { rcu: Math.max(units, batch.Keys.length * (batch.ConsistentRead === true ? 1 : 0.5)), wcu: 0 };
  }
  if (operation !== 'TransactWriteItems') return { rcu: 0, wcu: units };
  const items = TransactItems.map(({ Put }) => 2 * Math.max(1, Math.ceil(bytesOf(Put?.Item ?? {}) / 1_024)));
  // Local counts four for each write of an index in a transaction, and one for each other.
  const indexes = Object.values(said?.GlobalSecondaryIndexes ?? {}).map(index => index.CapacityUnits / 4);
  return { rcu: 0, wcu: [...items, ...indexes].reduce((sum, each) => sum + each, 0) };
}

/** Names and values, as the engine counts them. */
const bytesOf = (item: Json): number =>
  Object.entries(item).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name + Object.values(value as Json).join()),
    0,
  );

const jsonHeaders = { 'content-type': 'application/x-amz-json-1.0' };
const dynamoError = 'com.amazonaws.dynamodb.v20120810#';

function refusal(fault: Exclude<DynamoFault, 'unprocessed' | 'undone'>, request: Json): Response {
  const error = (name: string, message: string, status = 400, more: Json = {}) =>
    Response.json({ __type: name, message, ...more }, { status, headers: jsonHeaders });
  if (fault === 'throttled') {
    const name = `${dynamoError}ProvisionedThroughputExceededException`;
    return error(name, 'The level of configured provisioned throughput for the table was exceeded.');
  }
  if (fault === 'limit-exceeded') {
    return error(`${dynamoError}RequestLimitExceeded`, 'Throughput exceeds the current throughput limit.');
  }
  if (fault === 'conflict') {
    const name = `${dynamoError}TransactionConflictException`;
    return error(name, 'Transaction is ongoing for the item');
  }
  if (fault === 'answer-lost') return error(`${dynamoError}InternalServerError`, 'Internal error', 500);
  const items = request.TransactItems as unknown[];
  const reasons = items.map((_, position) => ({ Code: position === 0 ? 'TransactionConflict' : 'None' }));
  const listed = reasons.map(({ Code }) => Code).join(', ');
  return error(
    `${dynamoError}TransactionCanceledException`,
    `Transaction cancelled, please refer cancellation reasons for specific reasons [${listed}]`,
    400,
    { CancellationReasons: reasons },
  );
}

/** Executes the first half of a batch and returns the rest as unprocessed, like an engine without capacity. */
async function halfOf(batch: Batch, forward: (text: string) => Promise<Response>): Promise<Response> {
  const [table, wanted] = Object.entries(batch.RequestItems)[0]!;
  const items = Array.isArray(wanted) ? wanted : wanted.Keys;
  const part = (some: unknown[]) => ({ [table]: Array.isArray(wanted) ? some : { ...wanted, Keys: some } });
  const middle = Math.ceil(items.length / 2);
  const rest = middle === items.length ? {} : part(items.slice(middle));
  const done = await forward(JSON.stringify({ ...batch, RequestItems: part(items.slice(0, middle)) }));
  const answer = (await done.json()) as Json;
  const left = Array.isArray(wanted) ? { UnprocessedItems: rest } : { UnprocessedKeys: rest };
  return Response.json({ ...answer, ...left }, { headers: jsonHeaders });
}

function noneOf({ RequestItems }: Batch): Json {
  const areWrites = Array.isArray(Object.values(RequestItems)[0]);
  return areWrites ? { UnprocessedItems: RequestItems } : { Responses: {}, UnprocessedKeys: RequestItems };
}
