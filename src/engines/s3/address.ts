/**
 * What an `s3://` address says: the bucket, the folder in it, and where the storage is if it is not in AWS itself.
 * Keys to it never stand in the address; they come from the environment.
 */
export interface S3Address {
  readonly bucket: string;
  /** Empty, or without a slash at its ends. */
  readonly prefix: string;
  readonly region: string;
  readonly endpoint: string;
}

/** Keys to the storage. */
export interface S3Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

const regionDefault = 'us-east-1';

export function parseS3Address(url: string): S3Address {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.protocol !== 's3:' || !/^[a-z0-9][a-z0-9.-]{2,62}$/.test(parsed.hostname)) {
    throw new Error('an S3 address looks like s3://BUCKET/PREFIX?region=eu-west-1');
  }
  const unknown = [...parsed.searchParams.keys()].find(name => name !== 'region' && name !== 'endpoint');
  if (unknown !== undefined) {
    throw new Error(`an S3 address has only a region and an endpoint, not “${unknown}”`);
  }
  if (parsed.username !== '' || parsed.port !== '') {
    throw new Error('an S3 address names a bucket only; give the host as ?endpoint=http://127.0.0.1:9000');
  }
  const prefix = parsed.pathname.replace(/^\/|\/$/g, '');
  if (!/^(?:[\w.-]+(?:\/[\w.-]+)*)?$/.test(prefix) || prefix.length > 256) {
    throw new Error(
      'the prefix in an S3 address is made of letters, digits, dots, dashes and single slashes',
    );
  }
  const region = parsed.searchParams.get('region') ?? regionDefault;
  if (!/^[a-z0-9-]{1,64}$/.test(region)) throw new Error('region in an S3 address is one such as eu-west-1');
  const endpoint = parsed.searchParams.get('endpoint');
  return {
    bucket: parsed.hostname,
    prefix,
    region,
    endpoint: endpoint === null ? `https://s3.${region}.amazonaws.com` : originOf(endpoint),
  };
}

function originOf(endpoint: string): string {
  const parsed = URL.parse(endpoint);
  const isOrigin = parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.pathname === '/';
  if (isOrigin && parsed.search === '' && parsed.username === '') return parsed.origin;
  throw new Error('endpoint in an S3 address is an origin such as http://127.0.0.1:9000');
}
