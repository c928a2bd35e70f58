/**
 * Spans as a collector of OpenTelemetry takes them: the JSON form of OTLP, which is that of its protocol buffers but for
 * ids, which are hex. Whole numbers of 64 bits are text there, because JSON's numbers do not hold them.
 */
import type { FinishedSpan, SpanKind, SpanValue } from './span.ts';

export type Resource = Readonly<Record<string, SpanValue>>;

const kinds: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2 };
const failedStatus = 2;
const scope = 'terse';

export function otlpDocument(spans: readonly FinishedSpan[], resource: Resource): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: scope }, spans: spans.map(spanOf) }],
      },
    ],
  });
}

function spanOf(span: FinishedSpan): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId !== undefined && { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: kinds[span.kind],
    startTimeUnixNano: nanoseconds(span.startedAt),
    endTimeUnixNano: nanoseconds(span.endedAt),
    attributes: attributesOf(span.attributes),
    status: span.failure === undefined ? {} : { code: failedStatus, message: span.failure },
  };
}

function attributesOf(values: Readonly<Record<string, SpanValue>>): object[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: typedValue(value) }));
}

function typedValue(value: SpanValue): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Milliseconds of today have 41 bits: their fractions are good to about a quarter of a microsecond. */
function nanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6)));
}
