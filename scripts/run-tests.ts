/**
 * `npm test`, `npm run test:faults` (the long scenarios), and both with `--all`, as CI runs them. Files run
 * in parallel and share one server of each slow engine. All chance comes from one seed, which is printed. In `npm test` a
 * failure is a failure. A fault scenario on real engines that fails is repeated once, alone and with the same seed; if it
 * passes then, it is listed as flaky, unless what failed was a violation.
 */
import { type RunEngines, startRunEngines } from '../test/kit/engines/run-engines.ts';
import { seedNote, testSeed } from '../test/kit/seed.ts';
import { failedFiles, readRun, saidFailed, summarize, type Tallies } from './test-report.ts';

interface Suite {
  /** Files at a time. Many wait for engines and processes, so that there may be more of them than cores. */
  readonly parallel: number;
  readonly paths: readonly string[];
  readonly ignored: readonly string[];
  /** How many files may be repeated; with more failures than that, neighbours are not the cause. */
  readonly repeatsMax: number;
}

/** Long scenarios: faults of real engines, wherever the file is, and attacks that load a server for seconds. */
const faultFolders = ['test/faults', 'test/attacks', 'test/kit/engines'];
const faultSuffix = 'faults.test.ts';
/** In the suite of fault scenarios because they take long; a seed fails in them or it does not, whatever the load. */
const neverRepeated = /(?:^|\/)simulate\//;
const suites = {
  tests: {
    parallel: 4,
    paths: ['src', 'test', 'bench'],
    ignored: [...faultFolders.map(folder => `${folder}/**`), `**/*-${faultSuffix}`],
    repeatsMax: 0,
  },
  faults: {
    parallel: 2,
    paths: [...faultFolders, faultSuffix],
    ignored: [],
    repeatsMax: 4,
  },
} satisfies Record<string, Suite>;

interface Run {
  readonly tallies: Tallies;
  /** Whether the tallies hold every failure that bun counted. */
  readonly isComplete: boolean;
}

/** A process that a test leaves behind may hold the output open; it is read no longer than this after the tests' end. */
const outputGraceMs = 5_000;

async function run(options: readonly string[], env: Readonly<Record<string, string>>): Promise<Run> {
  const child = Bun.spawn([process.execPath, 'test', '--timeout', '120000', ...options], {
    env: { ...process.env, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const ending = new AbortController();
  const shown = Promise.all([show(child.stdout, ending.signal), show(child.stderr, ending.signal)]);
  const exitCode = await child.exited;
  const timer = setTimeout(() => ending.abort(), outputGraceMs);
  // Results are on stderr; stdout only ever has what tests print.
  const [, text] = await shown;
  clearTimeout(timer);
  const tallies = readRun(text);
  const failed = [...tallies.values()].reduce((total, { failures }) => total + failures.length, 0);
  // A test that ends its process early leaves no summary.
  const isSummarized = /^Ran \d+ tests? across/m.test(text);
  return {
    tallies,
    isComplete: isSummarized && failed === saidFailed(text) && (exitCode !== 0) === failed > 0,
  };
}

/** Prints what comes, as it comes, and returns all of it when the stream or the signal ends it. */
async function show(stream: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<string> {
  const reader = stream.getReader();
  signal.addEventListener('abort', () => void reader.cancel());
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    process.stdout.write(value);
    text += decoder.decode(value, { stream: true });
  }
}

interface Outcome {
  readonly first: Run;
  readonly repeats: readonly Run[];
}

async function runSuite(
  suite: Suite,
  paths: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const ignored = suite.ignored.map(pattern => `--path-ignore-patterns=${pattern}`);
  const first = await run(
    [`--parallel=${suite.parallel}`, ...ignored, ...(paths.length === 0 ? suite.paths : paths)],
    env,
  );
  const failed = failedFiles(first.tallies);
  const repeats: Run[] = [];
  if (failed.length > suite.repeatsMax) return { first, repeats };
  for (const file of failed) {
    if (neverRepeated.test(file) || first.tallies.get(file)!.failures.some(({ isViolation }) => isViolation))
      continue;
    print('', `${file} again, alone`);
    repeats.push(await run([`./${file}`], env));
  }
  return { first, repeats };
}

const print = (...lines: readonly string[]): boolean => process.stdout.write(`${lines.join('\n')}\n`);

/** An engine that does not stop is no failure of a test, and must not cost the summary. */
export async function stopEngines(engines: Pick<RunEngines, 'stop'>): Promise<void> {
  try {
    await engines.stop();
  } catch (error) {
    print('', `An engine did not stop: ${error}`);
  }
}

function suitesOf(args: readonly string[], hasPaths: boolean): readonly Suite[] {
  if (!args.includes('--all')) return [args.includes('--faults') ? suites.faults : suites.tests];
  // A given file may be of either suite; it runs once and is not repeated.
  return hasPaths ? [{ ...suites.tests, ignored: [] }] : [suites.tests, suites.faults];
}

async function main(args: readonly string[]): Promise<number> {
  const paths = args.filter(arg => !arg.startsWith('--'));
  print(seedNote);
  // A single file starts what it needs by itself.
  const engines = paths.length === 0 ? await startRunEngines(process.env) : undefined;
  const env = { ...engines?.env, TERSE_TEST_SEED: String(testSeed) };
  const outcomes: Outcome[] = [];
  try {
    for (const suite of suitesOf(args, paths.length > 0)) {
      const suiteStartedMs = performance.now();
      outcomes.push(await runSuite(suite, paths, env));
      print('', `${suite.paths.join(' ')}: ${secondsSince(suiteStartedMs)} s`);
    }
  } finally {
    if (engines !== undefined) await stopEngines(engines);
  }
  const runs = outcomes.flatMap(({ first, repeats }) => [first, ...repeats]);
  const { lines, isPassed } = summarize(
    outcomes.map(({ first, repeats }) => ({
      first: first.tallies,
      repeats: new Map(repeats.flatMap(({ tallies }) => [...tallies])),
    })),
    runs.filter(({ isComplete }) => !isComplete).length,
  );
  print('', seedNote, ...lines);
  return isPassed ? 0 : 1;
}

const secondsSince = (startMs: number): string => ((performance.now() - startMs) / 1_000).toFixed(0);

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
