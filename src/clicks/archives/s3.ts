/** The archive in a bucket of S3-compatible storage. */
import { S3, type S3Options, S3Unavailable } from '../../engines/s3/s3.ts';
import { type Archive, ArchiveUnavailable } from '../archive.ts';

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
