/** Reads what `bun test` prints and says how a run ended. */

/** One file's tests by how they ended. */
export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
  /** For each failure: the test's name and what was printed about it. */
  readonly failures: { readonly name: string; readonly text: string }[];
}

export type Tallies = ReadonlyMap<string, Tally>;

const endings = {
  '(pass) ': 'passed',
  '(fail) ': 'failed',
  '(skip) ': 'skipped',
  '(todo) ': 'skipped',
} as const;
const failureLinesMax = 60;

/** What a run printed, by file. */
export function readRun(text: string): Tallies {
  const tallies = new Map<string, Tally>();
  let tally: Tally | undefined;
  let since: string[] = [];
  for (const line of text.split('\n')) {
    const file = /^(\S+\.test\.tsx?):$/.exec(line)?.[1];
    if (file !== undefined) {
      tally = tallies.get(file) ?? { passed: 0, failed: 0, skipped: 0, failures: [] };
      tallies.set(file, tally);
      since = [];
      continue;
    }
    // After the last file bun repeats everything.
    if (/^\d+ tests? (?:failed|skipped)/.test(line)) break;
    since.push(line);
    const ending = endings[line.slice(0, 7) as keyof typeof endings];
    const isLoadingError = line === '# Unhandled error between tests';
    if (tally === undefined || (ending === undefined && !isLoadingError)) continue;
    tally[ending ?? 'failed'] += 1;
    if (ending === 'failed') {
      const name = line.slice(7).replace(/ \[[\d.]+m?s\]$/, '');
      tally.failures.push({ name, text: since.slice(-failureLinesMax).join('\n') });
    }
    if (isLoadingError) tally.failures.push({ name: 'between tests', text: line });
    else since = [];
  }
  return tallies;
}

/** How many tests failed according to bun itself; this includes a file whose process ended without a report. */
export const saidFailed = (text: string): number => Number(/^ *(\d+) fail$/m.exec(text)?.[1] ?? 0);

export const failedFiles = (tallies: Tallies): string[] =>
  [...tallies].filter(([, { failed }]) => failed > 0).map(([file]) => file);

export interface Summary {
  readonly lines: readonly string[];
  readonly isPassed: boolean;
}

/** A repeat replaces the first result of its file; what failed first and then passed is flaky. */
export function summarize(first: Tallies, repeats: Tallies): Summary {
  const last = new Map([...first, ...repeats]);
  const sum = (count: 'passed' | 'failed' | 'skipped'): number =>
    [...last.values()].reduce((total, tally) => total + tally[count], 0);
  const lines: string[] = [];
  const flaky: string[] = [];
  for (const [file, { failures }] of first) {
    if (failures.length === 0) continue;
    const { failed, failures: lastFailures } = last.get(file)!;
    if (failed === 0) flaky.push(...failures.map(({ name }) => `flaky: ${file}: ${name}`));
    lines.push('', failed === 0 ? `${file} failed first and passed alone:` : `${file} failed:`);
    lines.push(...(failed === 0 ? failures : lastFailures).map(({ text }) => text));
  }
  if (flaky.length > 0) lines.push('', ...flaky);
  const failed = sum('failed');
  lines.push('', `${sum('passed')} passed, ${failed} failed, ${sum('skipped')} skipped`);
  return { lines, isPassed: failed === 0 };
}
