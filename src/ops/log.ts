/**
 * One JSON object per line. Lines are gathered and written together, because a write per request would cost
 * more than the request. Callers pass what may be seen: no keys, no raw addresses, no bodies. The level can be changed
 * while the process runs, so that it need not be restarted to tell more.
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
  flush(): void;
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
  const lines = new LabelledCounter<LogLevel>();
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
  const at =
    (lineLevel: LogLevel) =>
    (event: string, fields: LogFields = {}): void => {
      if (logLevelOrder.indexOf(lineLevel) < logLevelOrder.indexOf(level)) return;
      lines.add(lineLevel);
      pending += `${JSON.stringify({ at: new Date(clock.now()).toISOString(), level: lineLevel, event, ...always, ...fields })}\n`;
      if (lineLevel === 'error' || pending.length > pendingBytesMax) flush();
      else cancelFlush ??= clock.after(flushDelayMs, flush);
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
    flush,
  };
}

/** What a log line says of a failure: its words and where it came from, through every cause. */
export function describeFailure(error: unknown, causesMax = 3): LogFields {
  if (!(error instanceof Error)) return { message: String(error) };
  const described = { message: error.message, stack: error.stack };
  if (error.cause === undefined || causesMax === 0) return described;
  return { ...described, cause: describeFailure(error.cause, causesMax - 1) };
}
