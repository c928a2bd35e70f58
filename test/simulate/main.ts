/**
 * `npm run simulate -- --seeds=10000 [--from=1] [--bug=NAME]`: runs seeds, in two processes, and prints which faults
 * occurred. A seed with a violation is shrunk and printed with its trace, and the exit status is 1. `--seeds=1
 * --from=N` repeats one; `--digests` prints a hash of each run, which is equal for equal runs; `--bugs` plants each bug
 * in turn and prints how many seeds it took to find it.
 */
import { parseArgs } from 'node:util';
import { type BugToFind, bugs, isExpected, type PlantedBug, plantedBugs } from './bugs.ts';
import { describeFault } from './faults.ts';
import { installationOf, installations, runSeed, type SeedResult, shrink } from './run-seed.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    seconds: { type: 'string' },
    only: { type: 'string' },
    bug: { type: 'string' },
    bugs: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    digests: { type: 'boolean', default: false },
    'until-found': { type: 'boolean', default: false },
    part: { type: 'string' },
  },
});

const print = (text: string): boolean => process.stdout.write(`${text}\n`);
const wallMs = performance.now.bind(performance);
const startedMs = wallMs();
const deadlineMs = values.seconds === undefined ? Number.POSITIVE_INFINITY : Number(values.seconds) * 1_000;

/** Sums that two processes can add up. */
interface Totals {
  seeds: number;
  virtualMs: number;
  events: number;
  operations: number;
  failed: number;
  redirects: number;
  faults: Record<string, number>;
  violated: number[];
}

const noTotals = (): Totals => ({
  seeds: 0,
  virtualMs: 0,
  events: 0,
  operations: 0,
  failed: 0,
  redirects: 0,
  faults: {},
  violated: [],
});

function add(totals: Totals, { seed, virtualMs, events, figures, faults, violation }: SeedResult): void {
  totals.seeds += 1;
  totals.virtualMs += virtualMs;
  totals.events += events;
  totals.operations += figures?.operations ?? 0;
  totals.failed += figures?.failed ?? 0;
  totals.redirects += figures?.redirects ?? 0;
  for (const { kind } of faults) totals.faults[kind] = (totals.faults[kind] ?? 0) + 1;
  if (violation !== undefined) totals.violated.push(seed);
}

function* seedsFrom(from: number, count: number): Generator<number> {
  const [part = 0, parts = 1] = (values.part ?? '0/1').split('/').map(Number);
  for (let seed = from; seed < from + count; seed += 1) {
    if (seed % parts !== part) continue;
    if (values.only === undefined || installationOf(seed) === values.only) yield seed;
  }
}

async function runSeeds(): Promise<Totals> {
  const totals = noTotals();
  for (const seed of seedsFrom(Number(values.from), Number(values.seeds))) {
    if (wallMs() - startedMs > deadlineMs) break;
    const result = await runSeed(seed);
    add(totals, result);
    if (values.digests)
      print(`digest of seed ${seed}: ${result.digest.toString(16)} after ${result.events} steps`);
    if (values['until-found']) {
      if (result.violation === undefined || !isExpected(result.violation)) continue;
      print(`seed ${seed}, the ${totals.seeds}. that was run: ${result.violation}`);
      break;
    }
    if (result.violation !== undefined) {
      const small = await shrink(result);
      print(`seed ${seed} (${result.installation}): ${small.violation}`);
      for (const fault of small.faults) print(`  ${describeFault(fault)}`);
      for (const line of small.trace.slice(-60)) print(`    ${line}`);
      print(`  repeat with: npm run simulate -- --seeds=1 --from=${seed} --trace`);
    } else if (values.trace) {
      for (const line of result.trace) print(`    ${line}`);
    }
  }
  return totals;
}

/** Prints lines as they come, so that a long run shows what it finds; the last one has the totals. */
async function passOn(output: ReadableStream<Uint8Array>): Promise<Totals> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of output) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.trimEnd().split('\n');
    rest = rest.slice(rest.trimEnd().length - lines.at(-1)!.length);
    for (const line of lines.slice(0, -1)) print(line);
  }
  return JSON.parse(rest) as Totals;
}

/** Half of the seeds here, half in a separate process: there are two cores. */
async function runInTwo(): Promise<Totals> {
  const args = process.argv.slice(2).filter(arg => !arg.startsWith('--part'));
  const children = [0, 1].map(part =>
    Bun.spawn([process.execPath, import.meta.path, ...args, `--part=${part}/2`], {
      stdout: 'pipe',
      stderr: 'inherit',
    }),
  );
  const parts = await Promise.all(children.map(child => passOn(child.stdout)));
  const totals = noTotals();
  for (const part of parts) {
    for (const name of ['seeds', 'virtualMs', 'events', 'operations', 'failed', 'redirects'] as const)
      totals[name] += part[name];
    for (const [kind, count] of Object.entries(part.faults))
      totals.faults[kind] = (totals.faults[kind] ?? 0) + count;
    totals.violated.push(...part.violated);
  }
  return totals;
}

function report({ seeds, virtualMs, events, operations, failed, redirects, faults, violated }: Totals): void {
  print('');
  print(
    `seeds ${values.from} to ${Number(values.from) + Number(values.seeds) - 1}: ${seeds} run, installations ${installations.join(', ')}`,
  );
  print(
    `${(virtualMs / 3_600_000).toFixed(1)} simulated hours, ${events} steps, ${operations} operations (${redirects} redirects, ${failed} failed), ${((wallMs() - startedMs) / 1_000).toFixed(0)} s`,
  );
  const counted = Object.entries(faults).sort(([, one], [, other]) => other - one);
  print(`faults: ${counted.map(([kind, count]) => `${kind} ${count}`).join(', ')}`);
  print(
    violated.length === 0 ? 'no violation' : `violated by seeds ${violated.sort((a, b) => a - b).join(', ')}`,
  );
}

const bugStarts = [1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000];
const bugSeedsMax = 400;

/** How many seeds it takes to find each planted bug: the median of several starts. */
async function findBugs(): Promise<boolean> {
  let isEachFound = true;
  for (const [name, { what }] of Object.entries<BugToFind>(plantedBugs)) {
    bugs.clear();
    bugs.add(name as PlantedBug);
    const taken: number[] = [];
    let found = '';
    for (const start of bugStarts) {
      let count = 0;
      for (const seed of seedsFrom(start, bugSeedsMax)) {
        count += 1;
        const { violation } = await runSeed(seed);
        if (violation === undefined || !isExpected(violation)) continue;
        found = violation;
        break;
      }
      taken.push(count);
    }
    const median = taken.sort((one, other) => one - other)[bugStarts.length >> 1]!;
    isEachFound &&= median < bugSeedsMax;
    print(`${name}: ${what}; found after ${median} seeds (${taken.join(', ')}): ${found}`);
  }
  bugs.clear();
  return isEachFound;
}

if (values.bug !== undefined) bugs.add(values.bug as PlantedBug);
if (values.bugs) {
  process.exitCode = (await findBugs()) ? 0 : 1;
} else if (values.part !== undefined) {
  print(JSON.stringify(await runSeeds()));
} else {
  const isShort = Number(values.seeds) < 8 || values['until-found'];
  const totals = isShort ? await runSeeds() : await runInTwo();
  report(totals);
  process.exitCode = totals.violated.length === 0 ? 0 : 1;
}
