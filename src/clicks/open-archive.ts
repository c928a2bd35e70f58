/** The archive that the settings name. */
import type { Clock } from '../base/clock.ts';
import { parseKafkaAddress } from '../engines/kafka/address.ts';
import { parseS3Address, type S3Keys } from '../engines/s3/address.ts';
import type { Archive } from './archive.ts';
import { createS3Archive } from './archives/s3.ts';

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
  // A topic has its own folder: its days are not made of logs and must not be mistaken for them.
  const folders = stream === 'embedded' ? [] : ['kafka', parseKafkaAddress(stream).topic];
  const prefix = [given.prefix, ...folders].filter(folder => folder !== '').join('/');
  const options = { address: { ...given, prefix }, keys, clock };
  return createS3Archive({ ...options, ...(deadlineMs !== undefined && { deadlineMs }) });
}
