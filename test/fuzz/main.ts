/**
 * `npm run fuzz -- [--seconds=60] [--seed=N] [target …]`: fuzzes the targets in turn, adds inputs with new behaviour to
 * the corpus, and stops at the first bug, whose input it adds too. An input that takes longer than `inputMaxMs` is a bug.
 */
import { Worker } from 'node:worker_threads';
import { keep } from './corpus-files.ts';
import type { FuzzJob, FuzzReport } from './fuzz-worker.ts';
import { inputMaxBytes } from './mutation-fuzzer.ts';
import { fuzzTargets } from './targets.ts';

const inputMaxMs = 10_000;

const args = process.argv.slice(2);
const numberOf = (option: string, fallback: number): number =>
  Number(args.find(arg => arg.startsWith(`--${option}=`))?.split('=')[1] ?? fallback);
const seconds = numberOf('seconds', 60);
const seed = numberOf('seed', Math.floor(Math.random() * 2 ** 31));
const chosen = args.filter(arg => !arg.startsWith('--'));
const names = chosen.length === 0 ? Object.keys(fuzzTargets) : chosen;
const print = (line: string): boolean => process.stdout.write(`${line}\n`);

/** Whether a bug was found. */
function fuzz(name: string, forMs: number): Promise<boolean> {
  const progress = new Int32Array(new SharedArrayBuffer(8));
  const latest = new Uint8Array(new SharedArrayBuffer(inputMaxBytes));
  const worker = new Worker(new URL('./fuzz-worker.ts', import.meta.url));
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  let inputs = 0;
  const timer = setInterval(() => {
    const nowInputs = Atomics.load(progress, 0);
    if (nowInputs !== inputs || nowInputs === 0) inputs = nowInputs;
    else {
      print(`${name}: an input takes longer than ${inputMaxMs / 1_000} s`);
      print(`kept as ${keep(name, 'hang', latest.slice(0, Atomics.load(progress, 1)))}`);
      resolve(true);
    }
  }, inputMaxMs);
  worker.on('message', (message: FuzzReport) => {
    if ('line' in message) print(message.line);
    else resolve(message.hasFailed);
  });
  worker.on('error', reject);
  worker.postMessage({ name, seed, forMs, progress, latest } satisfies FuzzJob);
  return promise.finally(() => {
    clearInterval(timer);
    void worker.terminate();
  });
}

const unknown = names.find(name => !(name in fuzzTargets));
if (unknown !== undefined)
  throw new Error(`no target ${unknown}; there are ${Object.keys(fuzzTargets).join(', ')}`);
print(`--seed=${seed}`);
const startedMs = performance.now();
for (const [index, name] of names.entries()) {
  const untilMs = startedMs + (seconds * 1_000 * (index + 1)) / names.length;
  // A thread that hangs does not end by itself.
  if (await fuzz(name, untilMs - performance.now())) process.exit(1);
}
