/**
 * `npm test`, `npm run test:faults` (the long scenarios), and both with `--all`, as CI runs them. Files run
 * in parallel and share one server of each slow engine. In `npm test` a failure is a failure. A fault scenario that fails
 * is repeated once, alone and with the same seed; if it passes then, it is listed as flaky.
 */
import { startRunEngines } from '../test/kit/engines/run-engines.ts';
import { testSeed } from '../test/kit/seed.ts';
import { failedFiles, readRun, saidFailed, summarize, type Tallies } from './test-report.ts';

interface Suite {
  /** Files at a time. Many wait for engines and processes, so that there may be more of them than cores. */
  readonly parallel: number;
  readonly paths: readonly string[];
  readonly ignored: readonly string[];
  /** How many files may be repeated; with more failures than that, neighbours are not the cause. */
  readonly repeatsMax: number;
  readonly env: Readonly<Record<string, string>>;
}

/** Long scenarios: faults of real engines, wherever the file is, and attacks that load a server for seconds. */
const faultFolders = ['test/faults', 'test/attacks', 'test/kit/engines'];
const faultSuffix = 'faults.test.ts';
const suites = {
  tests: {
    parallel: 3,
    paths: ['src', 'test', 'bench'],
    ignored: [...faultFolders.map(folder => `${folder}/**`), `**/*-${faultSuffix}`],
    repeatsMax: 0,
    env: {},
  },
  faults: {
    parallel: 2,
    paths: [...faultFolders, faultSuffix],
    ignored: [],
    repeatsMax: 4,
    // The repeat gets the seed of the first run.
    env: { TERSE_TEST_SEED: String(testSeed) },
  },
} satisfies Record<string, Suite>;

interface Run {
  readonly tallies: Tallies;
  /** Whether the tallies hold every failure that bun counted. */
  readonly isComplete: boolean;
}

async function run(options: readonly string[], env: Readonly<Record<string, string>>): Promise<Run> {
  const child = Bun.spawn([process.execPath, 'test', '--timeout', '120000', ...options], {
    env: { ...process.env, ...env },
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
  // A test that ends its process early leaves no summary.
  const isSummarized = /^Ran \d+ tests? across/m.test(text);
  return { tallies, isComplete: isSummarized && failed === saidFailed(text) && hasFailed === failed > 0 };
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
    print('', `${file} again, alone`);
    repeats.push(await run([`./${file}`], env));
  }
  return { first, repeats };
}

const print = (...lines: readonly string[]): boolean => process.stdout.write(`${lines.join('\n')}\n`);

async function main(args: readonly string[]): Promise<number> {
  const paths = args.filter(arg => !arg.startsWith('--'));
  const chosen = args.includes('--all') ? [suites.tests, suites.faults] : [];
  if (chosen.length === 0) chosen.push(args.includes('--faults') ? suites.faults : suites.tests);
  // A single file starts what it needs by itself.
  const engines = paths.length === 0 ? await startRunEngines(process.env) : undefined;
  const outcomes: Outcome[] = [];
  try {
    for (const suite of chosen) {
      const suiteStartedMs = performance.now();
      outcomes.push(await runSuite(suite, paths, { ...engines?.env, ...suite.env }));
      print('', `${suite.paths.join(' ')}: ${secondsSince(suiteStartedMs)} s`);
    }
  } finally {
    await engines?.stop();
  }
  const runs = outcomes.flatMap(({ first, repeats }) => [first, ...repeats]);
  const isComplete = runs.every(each => each.isComplete);
  if (!isComplete) print('', 'A test process ended without a report.');
  const merge = (all: readonly Run[]) => new Map(all.flatMap(({ tallies }) => [...tallies]));
  const { lines, isPassed } = summarize(
    merge(outcomes.map(({ first }) => first)),
    merge(outcomes.flatMap(({ repeats }) => repeats)),
  );
  print(...lines);
  return isPassed && isComplete ? 0 : 1;
}

const secondsSince = (startMs: number): string => ((performance.now() - startMs) / 1_000).toFixed(0);

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
