/** What the audit of dependencies makes of what npm says, which is not always an answer. */
import { describe, expect, test } from 'bun:test';
import { type Audit, judgeAudit, readAudit } from '../scripts/audit.ts';

const advisory = (severity: string) => ({
  source: 1,
  title: 'Opens the door',
  url: 'https://advisories.example/GHSA-aaaa-bbbb-cccc',
  severity,
});
const report = (severity: string): string =>
  JSON.stringify({
    auditReportVersion: 2,
    vulnerabilities: {
      door: { name: 'door', severity, via: [advisory(severity)] },
      house: { name: 'house', severity, via: ['door'] },
    },
  });

describe('an audit', () => {
  test('that finds nothing is good', () => {
    const { lines, isGood } = judgeAudit(readAudit('{"vulnerabilities": {}}'));
    expect([lines, isGood]).toEqual([['dependencies audited: 0 advisories, 0 of them to act on'], true]);
  });

  test.each([
    ['critical', false],
    ['high', false],
    ['moderate', true],
    ['low', true],
  ])('that finds something %s says so once, and fails for what is serious', (severity, isGood) => {
    const judged = judgeAudit(readAudit(report(severity)));
    expect(judged.lines[0]).toBe(`${severity}: door: Opens the door GHSA-aaaa-bbbb-cccc`);
    expect(judged.lines).toHaveLength(2);
    expect(judged.isGood).toBe(isGood);
  });

  test('lets reviewed advisories pass, and says why', () => {
    const reasons = { 'GHSA-aaaa-bbbb-cccc': 'we have no door' };
    const judged = judgeAudit(readAudit(report('critical')), reasons);
    expect(judged.isGood).toBe(true);
    expect(judged.lines[0]).toContain('(accepted: we have no door)');
  });

  test.each<[string, string, Audit]>([
    ['nothing', '', { reason: 'npm said nothing that can be read' }],
    ['something else', '<html>', { reason: 'npm said nothing that can be read' }],
    [
      'that the registry refused',
      '{"message": "405 Method Not Allowed", "statusCode": 405}',
      { reason: '405 Method Not Allowed' },
    ],
  ])('of which npm says %s fails nothing', (_what, text, audit) => {
    expect(readAudit(text)).toEqual(audit);
    expect(judgeAudit(readAudit(text))).toMatchObject({ isGood: true });
  });
});
