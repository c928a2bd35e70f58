/**
 * Begins spans and hands over those that ended. Whether a trace is recorded is decided by the parent if that says so,
 * else here for one request in so many. A request that is not recorded costs next to nothing, but still has a context,
 * so that logs and later steps can name the trace.
 */
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';

export interface Span {
  readonly context: TraceContext;
  set(name: string, value: SpanValue): void;
  /** What it is about may turn out only later. */
  rename(name: string): void;
  /** Counts once; `failure` says what went wrong. */
  end(failure?: string): void;
}

/** One that does not say whether it is sampled names the trace and decides nothing. */
export type ParentContext = Omit<TraceContext, 'isSampled'> & Partial<Pick<TraceContext, 'isSampled'>>;

export interface SpanOptions {
  readonly kind?: SpanKind;
  readonly parent?: ParentContext | undefined;
  readonly attributes?: Readonly<Record<string, SpanValue>>;
}

export interface Tracer {
  start(name: string, options?: SpanOptions): Span;
}

export interface TracerOptions {
  readonly sink: SpanSink;
  readonly clock: Clock;
  readonly random: Random;
  /** Of so many traces that begin here, one is recorded. */
  readonly oneIn: number;
}

/** A clock that differs by more than this was set, or has drifted for long. */
const setMinMs = 20;
export const traceIdBytes = 16;
export const spanIdBytes = 8;

export function createTracer({ sink, clock, random, oneIn }: TracerOptions): Tracer {
  // A wall clock that is set in the middle of a span must not make its duration negative. It has whole milliseconds
  // only, so it is read once for all spans, unless it was set: otherwise a part could seem to end after the whole.
  let aheadMs = clock.now() - clock.monotonicMs();
  const wallAheadMs = (): number => {
    const presentMs = clock.now() - clock.monotonicMs();
    if (Math.abs(presentMs - aheadMs) > setMinMs) aheadMs = presentMs;
    return aheadMs;
  };

  return {
    start(nameAtFirst, { kind = 'internal', parent, attributes = {} } = {}) {
      const context: TraceContext = {
        traceId: parent?.traceId ?? hexOf(random, traceIdBytes),
        spanId: hexOf(random, spanIdBytes),
        isSampled: parent?.isSampled ?? random.float() * oneIn < 1,
      };
      if (!context.isSampled) return { context, set() {}, rename() {}, end() {} };
      const startedMs = clock.monotonicMs();
      const startedAt = startedMs + wallAheadMs();
      const all: Record<string, SpanValue> = { ...attributes };
      let name = nameAtFirst;
      let isOver = false;
      return {
        context,
        set(attribute, value) {
          all[attribute] = value;
        },
        rename(next) {
          name = next;
        },
        end(failure) {
          if (isOver) return;
          isOver = true;
          const span: FinishedSpan = {
            traceId: context.traceId,
            spanId: context.spanId,
            parentSpanId: parent?.spanId,
            name,
            kind,
            startedAt,
            endedAt: startedAt + clock.monotonicMs() - startedMs,
            attributes: all,
            failure,
          };
          sink.take(span);
        },
      };
    },
  };
}

/** Follows a piece of work from its beginning to its end, however that ends; without a tracer it is only done. */
export async function traced<Result>(
  tracer: Tracer | undefined,
  name: string,
  options: SpanOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  if (tracer === undefined) return work();
  const span = tracer.start(name, options);
  try {
    const result = await work();
    span.end();
    return result;
  } catch (error) {
    span.end(error instanceof Error ? error.message : String(error));
    throw error;
  }
}

export function hexOf(random: Random, byteCount: number): string {
  return Buffer.from(random.bytes(byteCount)).toString('hex');
}

/** One finished piece of work in a trace. Everyone who can read traces sees its contents: no keys, no addresses. */
export type SpanKind = 'server' | 'internal';

export type SpanValue = string | number | boolean;

export interface FinishedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds since 1970, with their fractions. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
  /** Undefined when the work went well. */
  readonly failure: string | undefined;
}

export interface SpanSink {
  take(span: FinishedSpan): void;
}

/**
 * Where in a trace a request belongs, as W3C Trace Context writes it in the `traceparent` header. Whatever is not
 * exactly of that shape counts as not sent: the caller may be anyone, and the values end up in logs.
 */
export interface TraceContext {
  /** 32 hex digits, not all zero. */
  readonly traceId: string;
  /** 16 hex digits, not all zero. */
  readonly spanId: string;
  /** Whether the caller that began the trace wants it recorded. */
  readonly isSampled: boolean;
}

/** A later version may have more behind it, but begins in the same way. */
const shape = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const nothing = /^0+$/;
const sampledFlag = 1;

export function parseTraceparent(header: string | null): TraceContext | undefined {
  const [, version = '', traceId = '', spanId = '', flags = '', more] = shape.exec(header ?? '') ?? [];
  if (version === '' || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (nothing.test(traceId) || nothing.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & sampledFlag) === sampledFlag };
}
