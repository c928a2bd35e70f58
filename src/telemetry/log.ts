/**
 * One JSON object per line. Lines are gathered and written together, because a write per request would cost more than
 * the request. Callers pass what may be seen: no keys, no raw addresses, no bodies. The level can be changed while the
 * process runs, so that it need not be restarted to log more. A failure that repeats is written once and then counted
 * (repeated-failures.ts).
 */
import type { Clock } from '../base/clock.ts';
import { LabelledCounter } from './metrics.ts';
import { RepeatedFailures } from './repeated-failures.ts';

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
