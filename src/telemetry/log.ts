/**
 * One JSON object per line. Lines are gathered and written together, because a write per request would cost more than
 * the request. Callers pass what may be seen: no keys, no raw addresses, no bodies. The level can be changed while the
 * process runs, so that it need not be restarted to log more. A failure that repeats is written once and then counted.
 */
import type { Clock } from '../base/clock.ts';
import { LabelledCounter } from './metrics.ts';

export const logLevelOrder = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevelOrder)[number];

export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** The least important lines that are written from now on. */
  setLevel(level: LogLevel): void;
  readonly level: LogLevel;
  /** How many were written, by level. */
  readonly lines: LabelledCounter<LogLevel>;
  /** How many were counted instead, because they repeat one that was written. */
  readonly suppressed: LabelledCounter<LogLevel>;
  flush(): void;
  /** Writes how often failures have repeated, before the process ends, and flushes. */
  finish(): void;
}

export type LogFields = Readonly<Record<string, unknown>>;

export interface LogOptions {
  readonly level: LogLevel;
  readonly clock: Clock;
  readonly write: (text: string) => void;
  /** Said in every line. */
  readonly fields?: LogFields;
}

const flushDelayMs = 50;
const pendingBytesMax = 64 * 1024;

export function createLog({ level: levelAtStart, clock, write, fields: always = {} }: LogOptions): Log {
  const [lines, suppressed] = [new LabelledCounter<LogLevel>(), new LabelledCounter<LogLevel>()];
  let level = levelAtStart;
  let pending = '';
  let cancelFlush: (() => void) | undefined;

  const flush = (): void => {
    cancelFlush?.();
    cancelFlush = undefined;
    const text = pending;
    pending = '';
    if (text !== '') write(text);
  };
  const isWanted = (lineLevel: LogLevel): boolean =>
    logLevelOrder.indexOf(lineLevel) >= logLevelOrder.indexOf(level);
  const writeLine = (lineLevel: LogLevel, event: string, fields: LogFields): void => {
    if (!isWanted(lineLevel)) return;
    lines.add(lineLevel);
    pending += `${JSON.stringify({ at: new Date(clock.now()).toISOString(), level: lineLevel, event, ...always, ...fields })}\n`;
    if (lineLevel === 'error' || pending.length > pendingBytesMax) flush();
    else cancelFlush ??= clock.after(flushDelayMs, flush);
  };
  const repeated = new RepeatedFailures({ clock, write: writeLine });
  const at =
    (lineLevel: LogLevel) =>
    (event: string, fields: LogFields = {}): void => {
      if (!isWanted(lineLevel)) return;
      if (repeated.admits(lineLevel, event, fields)) writeLine(lineLevel, event, fields);
      else suppressed.add(lineLevel);
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    setLevel: next => {
      level = next;
    },
    get level() {
      return level;
    },
    lines,
    suppressed,
    flush,
    finish() {
      repeated.finish();
      flush();
    },
  };
}

/**
 * What a log line says of a failure: its kind, its message and where it came from, through every cause. A refusal such
 * as that of a store that is down has a code instead of a stack.
 */
export function describeFailure(error: unknown, causesMax = 3): LogFields {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name: kind, message, stack } = error;
  const { code } = error as { code?: unknown };
  const described = {
    kind,
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    message,
    ...(stack?.includes('\n') && { stack }),
  };
  if (error.cause === undefined || causesMax === 0) return described;
  return { ...described, cause: describeFailure(error.cause, causesMax - 1) };
}

/** `onSwitched` is called on each change. */
export function switchLogBySignal(log: Log, onSwitched: (level: LogLevel) => void = () => {}): void {
  const usual = log.level;
  process.on('SIGUSR2', () => onSwitched(switchLog(log, usual)));
}

export function switchLog(log: Log, usual: LogLevel): LogLevel {
  // Where the log is fully verbose already, the only possible change is one level less.
  const other = usual === 'debug' ? 'info' : 'debug';
  const isBack = log.level !== usual;
  const level = isBack ? usual : other;
  if (!isBack) log.setLevel(level);
  log.warn('the log level is changed by SIGUSR2', { level });
  log.setLevel(level);
  return level;
}

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
