/**
 * `npm test`: two test files at a time. Most of them start servers and engines of their own, and some prove what
 * happens within a second; on a small machine a neighbour can starve them of that second. So a file that fails beside
 * others is run once more with the machine to itself, and what fails there too has failed. Both runs are printed, and
 * a file that needed its second one is named at the end, because that is a fault to be mended, of the test or of Terse.
 */
/** One file's tests by how they ended. */
export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
  /** What was printed about each that failed. */
  readonly faults: string[];
}

export type Tallies = ReadonlyMap<string, Tally>;

const endings = {
  '(pass) ': 'passed',
  '(fail) ': 'failed',
  '(skip) ': 'skipped',
  '(todo) ': 'skipped',
} as const;
/** More than that is no matter of neighbours. */
const againMax = 8;
const faultLinesMax = 60;

/** What a run printed, by file. */
export function readRun(text: string): Tallies {
  const tallies = new Map<string, Tally>();
  let tally: Tally | undefined;
  let since: string[] = [];
  for (const line of text.split('\n')) {
    const file = /^(\S+\.test\.tsx?):$/.exec(line)?.[1];
    if (file !== undefined) {
      tally = tallies.get(file) ?? { passed: 0, failed: 0, skipped: 0, faults: [] };
      tallies.set(file, tally);
      since = [];
      continue;
    }
    // Behind the last file everything is told once more.
    if (/^\d+ tests? (?:failed|skipped)/.test(line)) break;
    since.push(line);
    const ending = endings[line.slice(0, 7) as keyof typeof endings];
    const isLoadingFault = line === '# Unhandled error between tests';
    if (tally === undefined || (ending === undefined && !isLoadingFault)) continue;
    tally[ending ?? 'failed'] += 1;
    if (ending === 'failed') tally.faults.push(since.slice(-faultLinesMax).join('\n'));
    if (isLoadingFault) tally.faults.push(line);
    else since = [];
  }
  return tallies;
}

export const failedFiles = (tallies: Tallies): string[] =>
  [...tallies].filter(([, { failed }]) => failed > 0).map(([file]) => file);

export interface Verdict {
  readonly lines: readonly string[];
  readonly isPassed: boolean;
}

/** The end of the story: what a second run says of a file takes the place of what the first one said. */
export function judge(first: Tallies, second: Tallies): Verdict {
  const last = new Map([...first, ...second]);
  const sum = (count: 'passed' | 'failed' | 'skipped'): number =>
    [...last.values()].reduce((total, tally) => total + tally[count], 0);
  const lines: string[] = [];
  for (const [file, { faults }] of first) {
    if (faults.length === 0) continue;
    const isPassedAlone = last.get(file)!.failed === 0;
    lines.push('', isPassedAlone ? `${file} passed only when run alone; beside others:` : `${file} failed:`);
    lines.push(...(isPassedAlone ? faults : last.get(file)!.faults));
  }
  const failed = sum('failed');
  lines.push('', `${sum('passed')} passed, ${failed} failed, ${sum('skipped')} skipped`);
  return { lines, isPassed: failed === 0 };
}

/** How many bun itself says have failed; it also knows of a file whose process is gone without a word. */
export const saidFailed = (text: string): number => Number(/^ *(\d+) fail$/m.exec(text)?.[1] ?? 0);

interface Run {
  readonly tallies: Tallies;
  /** Whether every failure that made the run fail is among them. */
  readonly isWhole: boolean;
}

async function run(options: readonly string[]): Promise<Run> {
  const child = Bun.spawn([process.execPath, 'test', '--timeout', '120000', ...options], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const decoder = new TextDecoder();
  let text = '';
  const show = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const chunk of stream) {
      process.stdout.write(chunk);
      text += decoder.decode(chunk, { stream: true });
    }
  };
  await Promise.all([show(child.stdout), show(child.stderr)]);
  const tallies = readRun(text);
  const failed = [...tallies.values()].reduce((total, tally) => total + tally.failed, 0);
  const hasFailed = (await child.exited) !== 0;
  return { tallies, isWhole: failed === saidFailed(text) && hasFailed === failed > 0 };
}

const say = (...lines: readonly string[]): boolean => process.stdout.write(`${lines.join('\n')}\n`);

async function main(paths: readonly string[]): Promise<number> {
  const first = await run(['--parallel=2', ...(paths.length === 0 ? ['src', 'test', 'bench'] : paths)]);
  const runs = [first];
  const again = failedFiles(first.tallies);
  if (again.length <= againMax) {
    for (const file of again) {
      say('', `${file} once more, alone`);
      runs.push(await run([`./${file}`]));
    }
  }
  const second = new Map(runs.slice(1).flatMap(({ tallies }) => [...tallies]));
  const { lines, isPassed } = judge(first.tallies, second);
  const isWhole = runs.every(each => each.isWhole);
  if (!isWhole) say('', 'A test process ended without saying how its tests did.');
  say(...lines);
  return isPassed && isWhole ? 0 : 1;
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
