/**
 * Waits for something to come true where no event says so, such as a process that ended or another one's answer. This
 * is the one place where a test may wait by looking again.
 */
export interface UntilOptions {
  /** Generous on purpose: it only ends a wait for what never comes. */
  readonly maxMs?: number;
  readonly everyMs?: number;
}

const maxMsDefault = 60_000;
const everyMsDefault = 20;

export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  { maxMs = maxMsDefault, everyMs = everyMsDefault }: UntilOptions = {},
): Promise<void> {
  for (const untilMs = performance.now() + maxMs; !(await isSo()); await Bun.sleep(everyMs)) {
    if (performance.now() > untilMs) throw new Error(`timed out waiting for ${what}`);
  }
}
