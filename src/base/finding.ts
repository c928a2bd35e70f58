/** What an examination of an engine or a machine found, and a list that such findings are noted in. */
export interface Finding {
  /** What was looked at, such as `postgres`. */
  readonly subject: string;
  readonly check: string;
  readonly verdict: Verdict;
  /** What was found. */
  readonly detail: string;
  /** What to do about it; for whatever is not ok. */
  readonly fix?: string;
}

export type Verdict = 'ok' | 'warn' | 'fail';

export class Findings {
  readonly #subject: string;
  readonly list: Finding[] = [];

  constructor(subject: string) {
    this.#subject = subject;
  }

  ok(check: string, detail: string): void {
    this.list.push({ subject: this.#subject, check, verdict: 'ok', detail });
  }

  /** It works, and will not always, or not well. */
  warn(check: string, detail: string, fix: string): void {
    this.list.push({ subject: this.#subject, check, verdict: 'warn', detail, fix });
  }

  /** Terse would not start, would not serve, or would lose something. */
  fail(check: string, detail: string, fix: string): void {
    this.list.push({ subject: this.#subject, check, verdict: 'fail', detail, fix });
  }
}

/** What most often is, of an odd number of measurements. */
export function medianOf(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const pings = 5;

/** Asks a few times, one after the other. */
export async function medianMs(monotonicMs: () => number, ping: () => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  for (let count = 0; count < pings; count += 1) {
    const startedMs = monotonicMs();
    await ping();
    took.push(monotonicMs() - startedMs);
  }
  return medianOf(took);
}

/** The innermost message, without what an attempt at every address of a name adds. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0]);
  if (error instanceof Error && error.cause instanceof Error) return messageOf(error.cause);
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
