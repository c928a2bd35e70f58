/**
 * Waits for a condition that no event reports, such as the end of another process. This is the only place where tests
 * poll.
 */
export interface UntilOptions {
  /** Generous on purpose: it only ends a wait that hangs. */
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
