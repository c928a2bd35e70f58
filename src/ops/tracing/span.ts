/** One stretch of work in a trace, finished. What is in it may be seen by whoever reads traces: no keys, no addresses. */
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
