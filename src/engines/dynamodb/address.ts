/**
 * What a `dynamodb://` address says: the table, the region, and where the engine is if it is not in AWS itself.
 * Keys to it never stand in the address; they come from wherever the vendor's tools look for them.
 */
export interface DynamoAddress {
  readonly table: string;
  readonly region: string;
  /** Undefined for AWS; else DynamoDB Local, Scylla's Alternator, or an endpoint of one's own network. */
  readonly endpoint: string | undefined;
}

const regionDefault = 'us-east-1';

export function parseAddress(url: string): DynamoAddress {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.protocol !== 'dynamodb:' || !/^[\w.-]{3,255}$/.test(parsed.hostname)) {
    throw new Error(
      'a DynamoDB address looks like dynamodb://TABLE?region=eu-west-1, TABLE of 3 to 255 letters',
    );
  }
  const unknown = [...parsed.searchParams.keys()].find(name => name !== 'region' && name !== 'endpoint');
  if (unknown !== undefined) {
    throw new Error(`a DynamoDB address has only a region and an endpoint, not “${unknown}”`);
  }
  if (!/^\/?$/.test(parsed.pathname) || parsed.username !== '' || parsed.port !== '') {
    throw new Error(
      'a DynamoDB address names a table only; give the host as ?endpoint=http://127.0.0.1:8000',
    );
  }
  const region = parsed.searchParams.get('region') ?? regionDefault;
  if (!/^[a-z0-9-]{1,64}$/.test(region))
    throw new Error('region in a DynamoDB address is one such as eu-west-1');
  const endpoint = parsed.searchParams.get('endpoint');
  return { table: parsed.hostname, region, endpoint: endpoint === null ? undefined : originOf(endpoint) };
}

function originOf(endpoint: string): string {
  const parsed = URL.parse(endpoint);
  const isOrigin = parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.pathname === '/';
  if (isOrigin && parsed.search === '' && parsed.username === '') return parsed.origin;
  throw new Error('endpoint in a DynamoDB address is an origin such as http://127.0.0.1:8000');
}
