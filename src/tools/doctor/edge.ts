/**
 * The doctor's check of the caches in front: whether they accept a purge of a code that does not exist. CloudFront is
 * skipped, because there that would be an invalidation like any other.
 */
import type { Clock } from '../../base/clock.ts';
import { type Finding, Findings, messageOf } from '../../base/finding.ts';
import type { Config } from '../../config/config.ts';
import { parsePurgeAddress } from '../../config/purge-address.ts';
import { openPurger } from '../../edge/purgers/open.ts';

const nobodysCode = 'terse-doctor';

export async function examineEdges(
  config: Pick<Config, 'edgePurge' | 'edgePurgeToken' | 'edgeTtlS'>,
  clock: Clock,
): Promise<Finding[]> {
  const findings = new Findings('edge');
  const { edgePurge, edgeTtlS } = config;
  if (edgeTtlS > 0 && edgePurge.length === 0)
    findings.warn(
      'purge',
      `nobody tells the caches of changes: a killed link lives there for up to ${edgeTtlS} s`,
      'name them in TERSE_EDGE_PURGE',
    );
  for (const address of edgePurge) {
    if (parsePurgeAddress(address).kind === 'cloudfront') {
      findings.ok('purge', `${address} is not tried, because it would be an invalidation`);
      continue;
    }
    const purger = openPurger(address, { token: config.edgePurgeToken, keys: undefined, clock });
    try {
      await purger.purge([nobodysCode]);
      findings.ok('purge', `${purger.name} takes purges`);
    } catch (error) {
      findings.fail(
        'purge',
        `${purger.name}: ${messageOf(error)}`,
        'let this machine purge there, and check the address and TERSE_EDGE_PURGE_TOKEN',
      );
    }
  }
  return findings.list;
}
