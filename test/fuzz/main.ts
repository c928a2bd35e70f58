/**
 * `npm run fuzz -- [--seconds=60] [--seed=N] [target …]`: fuzzes the targets in turn, adds inputs with new behaviour to
 * the corpus, and stops at the first bug, whose input it adds too.
 */
import { seededRandom } from '../../src/base/random.ts';
import { FuzzFailure, keep, MutationFuzzer } from './mutation-fuzzer.ts';
import { fuzzTargets } from './targets.ts';

const args = process.argv.slice(2);
const numberOf = (option: string, fallback: number): number =>
  Number(args.find(arg => arg.startsWith(`--${option}=`))?.split('=')[1] ?? fallback);
const seconds = numberOf('seconds', 60);
const seed = numberOf('seed', Math.floor(Math.random() * 2 ** 31));
const chosen = args.filter(arg => !arg.startsWith('--'));
const names = chosen.length === 0 ? Object.keys(fuzzTargets) : chosen;
const print = (line: string): boolean => process.stdout.write(`${line}\n`);

print(`--seed=${seed}`);
try {
  for (const name of names) {
    const fuzzer = new MutationFuzzer(name, seededRandom(seed));
    await fuzzer.begin();
    const known = fuzzer.behaviours.size;
    let runs = 0;
    for (
      const untilMs = performance.now() + (seconds * 1_000) / names.length;
      performance.now() < untilMs;
      runs += 1
    ) {
      const behaviour = await fuzzer.step();
      if (behaviour !== undefined)
        print(`  new: ${keep(name, behaviour, fuzzer.behaviours.get(behaviour)!)}`);
    }
    print(
      `${name}: ${runs} inputs, ${fuzzer.behaviours.size} behaviours, ${fuzzer.behaviours.size - known} new`,
    );
  }
} catch (error) {
  if (!(error instanceof FuzzFailure)) throw error;
  print(error.message);
  print(`kept as ${keep(error.target, 'bug', error.bytes)}`);
  process.exitCode = 1;
}
