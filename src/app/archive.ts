/** The archive that the settings name. */
import type { Clock } from '../base/clock.ts';
import type { Archive } from '../clicks/archive.ts';
import { createS3Archive } from '../clicks/archives/s3.ts';
import { parseS3Address } from '../engines/s3/address.ts';
import type { S3Keys } from '../engines/s3/s3.ts';

/** Plain data, because it crosses between threads. */
export interface ArchivePlace {
  /** An `s3://` address. */
  readonly address: string;
  readonly keys: S3Keys;
}

export function openArchive({ address, keys }: ArchivePlace, clock: Clock, deadlineMs?: number): Archive {
  const options = { address: parseS3Address(address), keys, clock };
  return createS3Archive({ ...options, ...(deadlineMs !== undefined && { deadlineMs }) });
}
