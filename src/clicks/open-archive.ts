/** The archive that the settings name. */
import type { Clock } from '../base/clock.ts';
import { parseKafkaAddress } from '../engines/kafka/address.ts';
import { parseS3Address, type S3Keys } from '../engines/s3/address.ts';
import { S3, type S3Options, S3Unavailable } from '../engines/s3/s3.ts';
import { type Archive, ArchiveUnavailable } from './archive.ts';

/** Plain data, because it crosses between threads. */
export interface ArchivePlace {
  /** An `s3://` address. */
  readonly address: string;
  readonly keys: S3Keys;
  /** Where the clicks come from: `embedded`, or the address of Kafka. */
  readonly stream: string;
}

export function openArchive(
  { address, keys, stream }: ArchivePlace,
  clock: Clock,
  deadlineMs?: number,
): Archive {
  const given = parseS3Address(address);
  // A topic has a separate folder, because its days have another format.
  const folders = stream === 'embedded' ? [] : ['kafka', parseKafkaAddress(stream).topic];
  const prefix = [given.prefix, ...folders].filter(folder => folder !== '').join('/');
  const options = { address: { ...given, prefix }, keys, clock };
  return createS3Archive({ ...options, ...(deadlineMs !== undefined && { deadlineMs }) });
}

/** The archive in a bucket of S3-compatible storage. */
export function createS3Archive(options: S3Options): Archive {
  const s3 = new S3(options);
  return {
    put: (key, bytes) => said(s3.put(key, bytes)),
    get: key => said(s3.get(key)),
    list: start => said(s3.list(start)),
  };
}

async function said<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw error instanceof S3Unavailable ? new ArchiveUnavailable(error.message) : error;
  }
}
