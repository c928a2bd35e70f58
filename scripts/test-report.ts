/** Reads what `bun test` prints and says how a run ended. */

/**
 * In the message of a failure that no repeat excuses: a lost link, a code issued twice, a click lost or counted twice
 * (`expectSafe` of test/kit/expect-safe.ts).
 */
export const violation = 'VIOLATION';

export interface Failure {
  readonly name: string;
  /** What was printed about it. */
  readonly text: string;
  readonly isViolation: boolean;
}

/** One file's tests by how they ended: names, and failures. */
export interface Tally {
  readonly passed: string[];
  readonly skipped: string[];
  readonly failures: Failure[];
}

export type Tallies = ReadonlyMap<string, Tally>;

const endings = {
  '(pass) ': 'passed',
  '(fail) ': 'failed',
  '(skip) ': 'skipped',
  '(todo) ': 'skipped',
} as const;
const failureLinesMax = 60;

interface OpenTally extends Tally {
  /** What was printed since the last result of this file. */
  since: string[];
}

/** What a run printed, by file. */
export function readRun(text: string): Tallies {
  const tallies = new Map<string, OpenTally>();
  let tally: OpenTally | undefined;
  for (const line of text.split('\n')) {
    const file = /^(\S+\.test\.tsx?):$/.exec(line)?.[1];
    if (file !== undefined) {
      tally = tallies.get(file) ?? { passed: [], skipped: [], failures: [], since: [] };
      tallies.set(file, tally);
      continue;
    }
    // After the last file bun repeats everything.
    if (/^\d+ tests? (?:failed|skipped)/.test(line)) break;
    if (tally === undefined) continue;
    tally.since.push(line);
    if (line === '# Unhandled error between tests') fail(tally, 'between tests', [line]);
    const ending = endings[line.slice(0, 7) as keyof typeof endings];
    if (ending === undefined) continue;
    const name = line.slice(7).replace(/ \[[\d.]+m?s\]$/, '');
    if (ending === 'failed') fail(tally, name, tally.since);
    else tally[ending].push(name);
    tally.since = [];
  }
  return tallies;
}

function fail({ failures }: Tally, name: string, printed: readonly string[]): void {
  const isViolation = printed.some(line => line.includes(violation));
  failures.push({ name, text: printed.slice(-failureLinesMax).join('\n'), isViolation });
}

/** How many tests failed according to bun itself; this includes a file whose process ended without a report. */
export const saidFailed = (text: string): number =>
  Number([...text.matchAll(/^ *(\d+) fail$/gm)].at(-1)?.[1] ?? 0);

export const failedFiles = (tallies: Tallies): string[] =>
  [...tallies].filter(([, { failures }]) => failures.length > 0).map(([file]) => file);

/** The tests of a suite, and of those of its files that were repeated. */
export interface SuiteTallies {
  readonly first: Tallies;
  readonly repeats: Tallies;
}

export interface Summary {
  readonly lines: readonly string[];
  readonly isPassed: boolean;
}

/** What failed first and passed in a repeat is flaky. `unreported` test processes ended without a report. */
export function summarize(suites: readonly SuiteTallies[], unreported: number): Summary {
  const lines: string[] = [];
  const flaky: string[] = [];
  const skipped: string[] = [];
  let [passed, failed] = [0, unreported];
  for (const { first, repeats } of suites) {
    for (const [file, tally] of first) {
      const repeat = repeats.get(file);
      const last = repeat ?? tally;
      passed += last.passed.length;
      skipped.push(...last.skipped.map(name => `skipped: ${file}: ${name}`));
      const cleared = tally.failures.filter(failure => isCleared(failure, tally, repeat));
      const failures = stillFailed(tally, cleared, repeat);
      failed += failures.length;
      flaky.push(...cleared.map(({ name }) => `flaky: ${file}: ${name}`));
      if (cleared.length > 0) lines.push('', `${file} failed first and passed alone:`, ...textsOf(cleared));
      if (failures.length > 0) lines.push('', `${file} failed:`, ...textsOf(failures));
    }
  }
  if (skipped.length > 0) lines.push('', ...skipped);
  if (flaky.length > 0) lines.push('', ...flaky);
  if (unreported > 0) lines.push('', 'A test process ended without a report.');
  lines.push('', `${passed} passed, ${failed} failed, ${skipped.length} skipped`);
  return { lines, isPassed: failed === 0 };
}

/** The repeat must have run this very test, as often as the first run did where several have its name. */
function isCleared({ name, isViolation }: Failure, first: Tally, repeat: Tally | undefined): boolean {
  if (isViolation || repeat === undefined || hasFailed(repeat, name)) return false;
  const isNamed = (each: string): boolean => each === name;
  const ran = [...first.passed, ...first.failures.map(failure => failure.name)].filter(isNamed).length;
  return repeat.passed.filter(isNamed).length >= ran;
}

/** Each failure of the repeat, and those of the first run that it neither cleared nor has itself. */
function stillFailed(first: Tally, cleared: readonly Failure[], repeat: Tally | undefined): Failure[] {
  const left = first.failures.filter(failure => !cleared.includes(failure));
  if (repeat === undefined) return left;
  return [...repeat.failures, ...left.filter(({ name }) => !hasFailed(repeat, name))];
}

const hasFailed = ({ failures }: Tally, name: string): boolean => failures.some(each => each.name === name);
const textsOf = (failures: readonly Failure[]): string[] => failures.map(({ text }) => text);
