/** Fuzzes one target for `npm run fuzz`, in a thread of its own: the thread that started it ends an input that hangs. */
import { parentPort } from 'node:worker_threads';
import { seededRandom } from '../../src/base/random.ts';
import { keep } from './corpus-files.ts';
import { FuzzFailure, MutationFuzzer } from './mutation-fuzzer.ts';

export interface FuzzJob {
  readonly name: string;
  readonly seed: number;
  readonly forMs: number;
  /** How many inputs were run, and the length of the latest. */
  readonly progress: Int32Array;
  readonly latest: Uint8Array;
}

/** The last message says whether a bug was found. */
export type FuzzReport = { readonly line: string } | { readonly hasFailed: boolean };

const report = (message: FuzzReport): void => parentPort!.postMessage(message);

async function fuzz({ name, seed, forMs, progress, latest }: FuzzJob): Promise<void> {
  const untilMs = performance.now() + forMs;
  const isOver = (): boolean => performance.now() >= untilMs;
  const fuzzer = new MutationFuzzer(name, seededRandom(seed), bytes => {
    latest.set(bytes.subarray(0, latest.length));
    Atomics.store(progress, 1, Math.min(bytes.length, latest.length));
    Atomics.add(progress, 0, 1);
  });
  try {
    await fuzzer.begin();
    const known = fuzzer.behaviours.size;
    let inputs = 0;
    for (; !isOver(); inputs += 1) {
      const behaviour = await fuzzer.step(isOver);
      if (behaviour !== undefined)
        report({ line: `  new: ${keep(name, behaviour, fuzzer.behaviours.get(behaviour)!)}` });
    }
    const { size } = fuzzer.behaviours;
    report({ line: `${name}: ${inputs} inputs, ${size} behaviours, ${size - known} new` });
    report({ hasFailed: false });
  } catch (error) {
    if (!(error instanceof FuzzFailure)) throw error;
    report({ line: error.message });
    report({ line: `kept as ${keep(name, 'bug', error.bytes)}` });
    report({ hasFailed: true });
  }
}

parentPort!.once('message', (job: FuzzJob) => void fuzz(job));
