/** What the doctor asks of a certificate: that it and its key belong together, for how long, and who else has the key. */
import type { Clock } from '../../base/clock.ts';
import { type Finding, Findings, messageOf } from '../../base/finding.ts';
import { isReadByAll, readPair } from '../certificate.ts';
import type { Config } from '../config.ts';

const dayMs = 24 * 60 * 60 * 1_000;
/** Whoever renews does so weeks before the end; so late, nobody does. */
const soonDays = 14;

export async function examineCertificate(
  { tlsCertificate, tlsKey }: Pick<Config, 'tlsCertificate' | 'tlsKey'>,
  clock: Clock,
): Promise<Finding[]> {
  const findings = new Findings('certificate');
  if (tlsCertificate === undefined || tlsKey === undefined) return findings.list;
  try {
    const { names, validUntilMs } = await readPair({ certificatePath: tlsCertificate, keyPath: tlsKey });
    findings.ok('names', names);
    const daysLeft = Math.floor((validUntilMs - clock.now()) / dayMs);
    const shown = `it ends at ${new Date(validUntilMs).toISOString()}, in ${daysLeft} days`;
    const fix = 'renew it: the new files are taken within a second';
    if (daysLeft < 0) findings.fail('end', shown, fix);
    else if (daysLeft < soonDays) findings.warn('end', shown, fix);
    else findings.ok('end', shown);
    if (isReadByAll(tlsKey)) findings.warn('key', `every user can read ${tlsKey}`, `chmod o-rwx ${tlsKey}`);
    else findings.ok('key', tlsKey);
  } catch (error) {
    findings.fail(
      'files',
      messageOf(error),
      'name a certificate and the key that belongs to it, in PEM form',
    );
  }
  return findings.list;
}
