/** What the doctor asks an archive. It only reads: what it wrote there could not be taken away again by our keys. */
import type { Clock } from '../../base/clock.ts';
import { type Finding, Findings, messageOf } from '../../base/finding.ts';
import { archivedDays } from '../../clicks/archive.ts';
import type { S3Keys } from '../../engines/s3/s3.ts';
import { type ArchivePlace, openArchive } from '../archive.ts';

const deadlineMs = 3_000;

export async function examineArchive(
  { address, stream }: Pick<ArchivePlace, 'address' | 'stream'>,
  keys: S3Keys | undefined,
  clock: Clock,
): Promise<Finding[]> {
  const findings = new Findings('archive');
  if (keys === undefined) {
    findings.fail(
      'keys',
      'there are none in the environment',
      'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    );
    return findings.list;
  }
  try {
    const days = await archivedDays(openArchive({ address, keys, stream }, clock, deadlineMs));
    const upTo = days.length === 0 ? '' : `, the newest is ${days.at(-1)}`;
    findings.ok('days', `${days.length} are archived${upTo}`);
  } catch (error) {
    findings.fail('days', messageOf(error), 'check the bucket, the endpoint, and what the keys may do');
  }
  return findings.list;
}
