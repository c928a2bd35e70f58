import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../test/kit/engines/describe-with-engine.ts';
import { sharedS3 } from '../../test/kit/engines/s3.ts';
import { systemClock } from '../base/clock.ts';
import { parseS3Address } from '../engines/s3/address.ts';
import { archiveConformance } from './archive.conformance.ts';
import { ArchiveUnavailable } from './archive.ts';
import { createS3Archive } from './open-archive.ts';

describeWithEngine('s3', 'S3-compatible storage', () => {
  archiveConformance('s3', async () => {
    const engine = await sharedS3();
    // Two keys to a page, so that a listing has several.
    return createS3Archive({
      address: parseS3Address(engine.freshAddress()),
      keys: engine.keys,
      clock: systemClock,
      pageKeys: 2,
    });
  });
});

test('unreachable storage is reported as an unavailable archive', async () => {
  const archive = createS3Archive({
    address: parseS3Address('s3://terse?endpoint=http://127.0.0.1:1'),
    keys: { accessKeyId: 'a', secretAccessKey: 'b' },
    clock: systemClock,
  });
  await expect(archive.get('one')).rejects.toThrow(ArchiveUnavailable);
});
