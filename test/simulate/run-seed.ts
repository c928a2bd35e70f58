/** Runs one seed: chooses the installation and the faults, and checks what clients saw. */
import { faultsThatShow } from './bugs.ts';
import { CountingRun, countingFaultWindow } from './counting.ts';
import { countingFaultKinds } from './counting-installation.ts';
import { type Fault, planFaults } from './faults.ts';
import { Kernel } from './kernel.ts';
import { holdPlatform } from './platform.ts';
import { type RunFigures, SharedEnginesRun, sharedFaultWindow } from './shared-engines.ts';
import { sharedFaultKinds } from './shared-installation.ts';

export const installations = ['shared', 'queued', 'embedded', 'kafka'] as const;
export type Installation = (typeof installations)[number];

export interface SeedResult {
  readonly seed: number;
  readonly installation: Installation;
  readonly faults: readonly Fault[];
  readonly virtualMs: number;
  readonly events: number;
  readonly digest: number;
  readonly figures: RunFigures | undefined;
  /** What was violated; undefined when nothing was. */
  readonly violation: string | undefined;
  readonly trace: readonly string[];
}

const faultsMax = 10;
/** A few runs last an hour, because some code runs only after many minutes without an answer. */
const longRunEvery = 61;
const longPace = 90;
const paceOf = (seed: number): number => (seed % longRunEvery === 0 ? longPace : 1);

export const installationOf = (seed: number): Installation => installations[seed % installations.length]!;

export function faultsOf(seed: number): Fault[] {
  const installation = installationOf(seed);
  const isCounting = installation === 'embedded' || installation === 'kafka';
  return planFaults(seed, {
    kinds: faultsThatShow(isCounting ? countingFaultKinds[installation] : sharedFaultKinds),
    ...(isCounting ? countingFaultWindow : sharedFaultWindow),
    countMax: faultsMax,
    ...(!isCounting && { pace: paceOf(seed) }),
  });
}

/** Other `faults` than those of the seed are for shrinking. */
export async function runSeed(seed: number, faults: readonly Fault[] = faultsOf(seed)): Promise<SeedResult> {
  const installation = installationOf(seed);
  const kernel = new Kernel(seed);
  const release = holdPlatform(kernel);
  let figures: RunFigures | undefined;
  let violation: string | undefined;
  const unhandled = (error: unknown): void => {
    kernel.note(`unhandled: ${String(error)}`);
    // A process that dies in the middle of a step no longer handles rejections.
    if (!kernel.current.isOver)
      violation ??= `a rejection was not handled: ${String((error as Error).stack ?? error)}`;
  };
  process.on('unhandledRejection', unhandled);
  try {
    figures = await newRun(installation, kernel, paceOf(seed)).run(faults);
  } catch (error) {
    violation ??=
      error instanceof Error && error.name === 'Violation' ? error.message : String((error as Error).stack);
  } finally {
    process.off('unhandledRejection', unhandled);
    release();
  }
  return {
    seed,
    installation,
    faults,
    virtualMs: kernel.nowMs - kernel.startMs,
    events: kernel.events,
    digest: kernel.digest,
    figures,
    violation,
    trace: kernel.trace,
  };
}

function newRun(installation: Installation, kernel: Kernel, pace: number): SharedEnginesRun | CountingRun {
  if (installation === 'shared') return new SharedEnginesRun(kernel, 'direct', pace);
  if (installation === 'queued') return new SharedEnginesRun(kernel, 'queued', pace);
  return new CountingRun(kernel, installation);
}

/** Removes one fault after the other, as long as there is still a violation. */
export async function shrink(failed: SeedResult): Promise<SeedResult> {
  let smallest = failed;
  for (let left = failed.faults.length - 1; left >= 0; left -= 1) {
    const fewer = smallest.faults.filter(fault => fault !== failed.faults[left]);
    const result = await runSeed(failed.seed, fewer);
    if (result.violation !== undefined) smallest = result;
  }
  return smallest;
}
