/**
 * `npm run audit`: asks the registry for known advisories against the packages that Terse ships with. A serious one
 * fails, unless it was reviewed and the reason why it does not concern us is written below. A registry that does not
 * answer is reported and fails nothing, because a machine without a network has to be able to build.
 */

/** Advisories by their number, such as `GHSA-…`, and why Terse is not concerned. */
const accepted: Readonly<Record<string, string>> = {};

export interface Advisory {
  readonly package: string;
  readonly number: string;
  readonly severity: string;
  readonly title: string;
}

export type Audit =
  | { readonly advisories: readonly Advisory[] }
  /** Why there is no result. */
  | { readonly reason: string };

const serious = ['high', 'critical'];
const timeoutMs = 30_000;

/** What `npm audit --json` printed, made sense of. */
export function readAudit(text: string): Audit {
  let report: unknown;
  try {
    report = JSON.parse(text);
  } catch {
    return { reason: 'npm said nothing that can be read' };
  }
  const { vulnerabilities, message } = report as {
    vulnerabilities?: Record<string, { via: readonly (string | AdvisoryEntry)[] }>;
    message?: string;
  };
  if (vulnerabilities === undefined) return { reason: message ?? 'npm said nothing about it' };
  const advisories = Object.entries(vulnerabilities).flatMap(([name, { via }]) =>
    // What is only a name is a package further down, which has an entry of its own.
    via.filter(each => typeof each !== 'string').map(entry => advisoryOf(name, entry)),
  );
  return { advisories };
}

interface AdvisoryEntry {
  readonly url?: string;
  readonly severity: string;
  readonly title: string;
}

const advisoryOf = (name: string, { url = '', severity, title }: AdvisoryEntry): Advisory => ({
  package: name,
  number: url.split('/').at(-1) ?? '',
  severity,
  title,
});

/** The lines to print, and whether to fail. */
export function judgeAudit(
  audit: Audit,
  reasons: Readonly<Record<string, string>> = accepted,
): { readonly lines: readonly string[]; readonly isGood: boolean } {
  if ('reason' in audit) return { lines: [`dependencies were not audited: ${audit.reason}`], isGood: true };
  const { advisories } = audit;
  const isBad = ({ severity, number }: Advisory): boolean =>
    serious.includes(severity) && reasons[number] === undefined;
  const lines = advisories.map(advisory => {
    const { severity, package: name, number, title } = advisory;
    const known = reasons[number] === undefined ? '' : ` (accepted: ${reasons[number]})`;
    return `${severity}: ${name}: ${title} ${number}${known}`;
  });
  const bad = advisories.filter(isBad).length;
  return {
    lines: [...lines, `dependencies audited: ${advisories.length} advisories, ${bad} of them to act on`],
    isGood: bad === 0,
  };
}

if (import.meta.main) {
  const { stdout } = Bun.spawnSync(
    ['npm', 'audit', '--json', '--omit=dev', '--fetch-retries=0', '--fetch-timeout=10000'],
    { timeout: timeoutMs, stderr: 'ignore' },
  );
  const { lines, isGood } = judgeAudit(readAudit(stdout.toString()));
  process.stdout.write(`${lines.join('\n')}\n`);
  process.exitCode = isGood ? 0 : 1;
}
