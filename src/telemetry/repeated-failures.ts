/**
 * Keeps a failure that happens again and again from filling the log. The first line of a kind is written in full. For a
 * minute after it, lines of the same kind are only counted; then one line says how many there were, and so on until a
 * minute passes without any. The last count is written when its minute is over, or when the log ends. It is lost if the
 * process is killed or exits at once, or if the level of the log leaves the line out by then.
 *
 * Lines are the same that have the same level, event and identity. The identity is of bounded length: the failure's
 * kinds, codes and the places in the code where it and its causes were made; or, of a line with a text as `detail` and
 * no failure, the start of that text without its numbers. Such a text may have something of a single request in it, so
 * equal failures may count as different; the bounds below hold all the same. Lines with neither are not touched.
 */
import type { Clock } from '../base/clock.ts';
import type { LogFields, LogLevel } from './log.ts';

export interface RepeatedFailuresOptions {
  readonly clock: Clock;
  /** Writes the line that stands for many. */
  readonly write: (level: LogLevel, event: string, fields: LogFields) => void;
}

interface Repeated {
  readonly level: LogLevel;
  readonly event: string;
  untilMs: number;
  count: number;
  /** When the first of those counted came. */
  sinceMs: number;
  /** The last of them. */
  example: LogFields;
}

const windowMs = 60_000;
/** An event that fails in more ways than these has the others counted together. */
const kindsPerEventMax = 8;
const kindsMax = 256;
/** Whatever is beyond that, which takes that many different failures within a minute. */
const others = 'others';
const causesMax = 4;
const identityPartMax = 200;

export class RepeatedFailures {
  readonly #options: RepeatedFailuresOptions;
  /** In the order in which their windows end. */
  readonly #kinds = new Map<string, Repeated>();
  #cancel: (() => void) | undefined;

  constructor(options: RepeatedFailuresOptions) {
    this.#options = options;
  }

  /** Whether the line is to be written; otherwise it is counted. */
  admits(level: LogLevel, event: string, fields: LogFields): boolean {
    const failure = identityOf(fields);
    if (failure === undefined) return true;
    const key = this.#keyOf(`${level} ${event}`, failure);
    const known = this.#kinds.get(key);
    const { clock } = this.#options;
    if (known === undefined) {
      const untilMs = clock.monotonicMs() + windowMs;
      const shown = key === others ? 'other failures' : event;
      this.#kinds.set(key, { level, event: shown, untilMs, count: 0, sinceMs: 0, example: {} });
      this.#cancel ??= clock.after(windowMs, () => this.#endWindows());
      return true;
    }
    if (known.count === 0) known.sinceMs = clock.now();
    known.count += 1;
    known.example = fields;
    return false;
  }

  /** Writes what was counted so far. A failure that comes later is written in full again. */
  finish(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    for (const repeated of this.#kinds.values()) this.#tell(repeated);
    this.#kinds.clear();
  }

  #keyOf(line: string, failure: string): string {
    const key = `${line} ${failure}`;
    if (this.#kinds.has(key)) return key;
    let alike = 0;
    for (const each of this.#kinds.keys()) if (each.startsWith(`${line} `)) alike += 1;
    if (alike >= kindsPerEventMax) return line;
    return this.#kinds.size >= kindsMax ? others : key;
  }

  #endWindows(): void {
    this.#cancel = undefined;
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const [key, repeated] of this.#kinds) {
      if (repeated.untilMs > nowMs) continue;
      this.#kinds.delete(key);
      if (repeated.count === 0) continue;
      this.#tell(repeated);
      this.#kinds.set(key, { ...repeated, untilMs: nowMs + windowMs, count: 0, example: {} });
    }
    const [next] = this.#kinds.values();
    if (next !== undefined)
      this.#cancel = clock.after(Math.max(1, next.untilMs - nowMs), () => this.#endWindows());
  }

  #tell({ level, event, count, sinceMs, example }: Repeated): void {
    if (count === 0) return;
    const { failure, ...rest } = example;
    this.#options.write(level, event, {
      repeated: count,
      since: new Date(sinceMs).toISOString(),
      ...(failure !== undefined && { failure: withoutStacks(failure) }),
      example: rest,
    });
  }
}

interface Described {
  readonly kind?: unknown;
  readonly code?: unknown;
  readonly stack?: unknown;
  readonly cause?: unknown;
}

/** Undefined for a line that is about no failure. */
function identityOf({ failure, detail }: LogFields): string | undefined {
  // Another thread's failure comes as its words; numbers in them are those of one case.
  if (failure === undefined)
    return typeof detail === 'string' ? start(detail)!.replaceAll(/\d+/g, '0') : undefined;
  const parts: (string | undefined)[] = [];
  for (
    let [at, depth] = [failure as Described | undefined, 0];
    typeof at === 'object' && at !== null && depth < causesMax;
    [at, depth] = [at.cause as Described | undefined, depth + 1]
  )
    parts.push(start(at.kind), start(at.code), start(firstFrame(at.stack)));
  return JSON.stringify(parts);
}

function start(part: unknown): string | undefined {
  return part === undefined ? undefined : String(part).slice(0, identityPartMax);
}

function firstFrame(stack: unknown): string | undefined {
  return typeof stack === 'string' ? /^ +at .*$/m.exec(stack)?.[0] : undefined;
}

function withoutStacks(failure: unknown): unknown {
  if (typeof failure !== 'object' || failure === null) return failure;
  const { stack: _stack, cause, ...rest } = failure as Described;
  return { ...rest, ...(cause !== undefined && { cause: withoutStacks(cause) }) };
}
