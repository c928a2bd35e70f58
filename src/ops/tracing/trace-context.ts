/**
 * Where in a trace a request belongs, as W3C Trace Context writes it in the `traceparent` header. Whatever is not
 * exactly of that shape counts as not sent: the caller may be anyone, and what is taken from it ends up in logs.
 */
export interface TraceContext {
  /** 32 hex digits, not all zero. */
  readonly traceId: string;
  /** 16 hex digits, not all zero. */
  readonly spanId: string;
  /** Whether whoever began the trace wants it recorded. */
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

export const traceparentOf = ({ traceId, spanId, isSampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
