/**
 * Requests to DynamoDB: JSON over the platform's `fetch`, which keeps connections and drops one at once when its call is
 * given up. The vendor's client makes a request for a millisecond of CPU; it is only asked where requests go and who
 * signs them, because it knows every place where operators put that (ADR 30). Retries are in calls.ts, which knows the
 * deadline.
 */
import type { Clock } from '../../base/clock.ts';
import type { DynamoAddress } from './address.ts';
import { DynamoError } from './failures.ts';
import { type Credentials, Signer } from './signature.ts';

export interface DynamoClient {
  /** Rejects with a `DynamoError` when the engine answers with one, and as `fetch` does when it does not answer. */
  send<Output>(operation: string, input: object, signal: AbortSignal): Promise<Output>;
}

export interface ClientOptions {
  readonly clock: Clock;
  /**
   * Whether the environment holds credentials; without them an engine with an address of its own is given made-up ones.
   */
  readonly hasCredentials: boolean;
  /** Called with the engine's time, by its answer to a request that was sent at `sentAt`. */
  readonly onTime?: (engineTime: number, sentAt: number) => void;
}

/** Where requests go, and in whose name. */
interface Access {
  readonly origin: string;
  /** Cached, and renewed before they expire. */
  readonly credentials: () => Promise<Credentials>;
}

/** DynamoDB Local and its like take any key, but they want one. */
const anyCredentials = { accessKeyId: 'terse', secretAccessKey: 'terse' };
const protocol = 'DynamoDB_20120810';
/** The engine refuses requests whose time is further off. */
const skewMaxMs = 5 * 60 * 1_000;

export function createClient(address: DynamoAddress, options: ClientOptions): DynamoClient {
  const { clock, onTime } = options;
  const signer = new Signer(address.region);
  let opening: Promise<Access> | undefined;
  /** How far the engine's clock is ahead of ours, where that is too far for it to accept our signatures. */
  let skewMs = 0;

  const access = async (): Promise<Access> => {
    opening ??= openAccess(address, options.hasCredentials);
    try {
      return await opening;
    } catch (error) {
      opening = undefined;
      throw error;
    }
  };

  const noteTime = (date: string | null, sentAt: number): void => {
    const engineTime = Date.parse(date ?? '');
    if (Number.isNaN(engineTime)) return;
    onTime?.(engineTime, sentAt);
    if (Math.abs(engineTime - clock.now() - skewMs) > skewMaxMs) skewMs = engineTime - clock.now();
  };

  return {
    async send<Output>(operation: string, input: object, signal: AbortSignal): Promise<Output> {
      const { origin, credentials: current } = await access();
      const credentials = await current();
      const body = JSON.stringify(input);
      const sentAt = clock.now();
      const host = origin.slice(origin.indexOf('//') + 2);
      const target = `${protocol}.${operation}`;
      const headers = signer.headersOf({ credentials, host, target, body, now: sentAt + skewMs });
      const answer = await fetch(origin, { method: 'POST', headers, body, signal });
      if (onTime !== undefined || !answer.ok) noteTime(answer.headers.get('date'), sentAt);
      if (!answer.ok) throw new DynamoError(answer.status, await answer.text());
      return (await answer.json()) as Output;
    },
  };
}

async function openAccess(address: DynamoAddress, hasCredentials: boolean): Promise<Access> {
  const { region, endpoint } = address;
  if (endpoint !== undefined && !hasCredentials) {
    return { origin: endpoint, credentials: async () => anyCredentials };
  }
  const { DynamoDBClient, ListTablesCommand } = await import('@aws-sdk/client-dynamodb');
  let origin = '';
  const handle = async ({
    protocol,
    hostname,
    port,
  }: {
    protocol: string;
    hostname: string;
    port?: number;
  }) => {
    origin = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`;
    return { response: { statusCode: 200, headers: {}, body: new TextEncoder().encode('{}') } };
  };
  const vendor = new DynamoDBClient({
    region,
    requestHandler: { handle },
    ...(endpoint === undefined ? {} : { endpoint }),
  });
  // It goes nowhere: only the address that the request would have is of interest.
  await vendor.send(new ListTablesCommand({}));
  return { origin, credentials: vendor.config.credentials };
}
