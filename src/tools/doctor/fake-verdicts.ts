/** For tests: the verdict of each check, the worst where there are several. */
import type { Finding, Verdict } from '../../base/finding.ts';

const order: readonly Verdict[] = ['ok', 'warn', 'fail'];

export function verdictsOf(findings: readonly Finding[]): Record<string, Verdict> {
  const verdicts: Record<string, Verdict> = {};
  for (const { check, verdict, fix } of findings) {
    if (verdict !== 'ok' && fix === undefined) throw new Error(`${check} does not say what to do`);
    const before = verdicts[check] ?? 'ok';
    verdicts[check] = order.indexOf(verdict) > order.indexOf(before) ? verdict : before;
  }
  return verdicts;
}

export const findingOf = (findings: readonly Finding[], check: string): Finding | undefined =>
  findings.find(finding => finding.check === check);
