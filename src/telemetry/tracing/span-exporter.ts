/**
 * Sends finished spans to a collector in batches, without delaying the traced work: the work does not wait, the queue
 * is bounded, and a collector that is down or slow costs spans and nothing else. A batch that it did not accept is sent
 * once more with the next; spans that find the queue full are dropped and counted.
 */
import type { Clock } from '../../base/clock.ts';
import { withSignal } from '../../base/deadline.ts';
import type { FinishedSpan, SpanKind, SpanSink, SpanValue } from './tracer.ts';

export interface SpanExporterOptions {
  /** Where the collector takes spans, such as `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string;
  readonly resource: Resource;
  readonly clock: Clock;
  /** Called when sending fails after a success, not each time. */
  readonly onDown: (reason: string) => void;
}

const queueMax = 4_096;
const batchMax = 512;
const periodMs = 2_000;
const answerMaxMs = 5_000;

export class SpanExporter implements SpanSink {
  readonly #options: SpanExporterOptions;
  readonly #stopPeriods: () => void;
  #queue: FinishedSpan[] = [];
  #sending: Promise<void> | undefined;
  #isDown = false;
  exported = 0;
  dropped = 0;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
    this.#stopPeriods = options.clock.every(periodMs, () => void this.#send());
  }

  get waiting(): number {
    return this.#queue.length;
  }

  take(span: FinishedSpan): void {
    if (this.#queue.length >= queueMax) {
      this.dropped += 1;
      return;
    }
    this.#queue.push(span);
    if (this.#queue.length >= batchMax && !this.#isDown) void this.#send();
  }

  /** Sends the rest of the queue, as far as the collector accepts it at once; the remainder is lost. */
  async close(): Promise<void> {
    this.#stopPeriods();
    await this.#sending;
    let left = this.#queue.length;
    while (left > 0) {
      await this.#send();
      if (this.#isDown || this.#queue.length >= left) break;
      left = this.#queue.length;
    }
    this.dropped += this.#queue.length;
    this.#queue = [];
  }

  /** One at a time: a slow collector gets no further requests. */
  #send(): Promise<void> {
    this.#sending ??= this.#sendBatch().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #sendBatch(): Promise<void> {
    const batch = this.#queue.slice(0, batchMax);
    if (batch.length === 0) return;
    try {
      await this.#post(otlpDocument(batch, this.#options.resource));
      this.exported += batch.length;
      this.#isDown = false;
    } catch (error) {
      const wasDown = this.#isDown;
      this.#isDown = true;
      if (!wasDown) this.#options.onDown(error instanceof Error ? error.message : String(error));
      if (!(error instanceof Refused)) return;
      // It has rejected these; a retry would get the same answer.
      this.dropped += batch.length;
    }
    this.#queue = this.#queue.slice(batch.length);
  }

  async #post(body: string): Promise<void> {
    const { url, clock } = this.#options;
    const headers = { 'Content-Type': 'application/json' };
    const { status } = await withSignal(clock, answerMaxMs, async signal => {
      const answer = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
      // The rest of its answer is not needed, and must not keep the connection.
      await answer.body?.cancel();
      return answer;
    });
    if (status >= 200 && status < 300) return;
    const words = `the collector answered ${status}`;
    throw status < 500 && status !== 429 ? new Refused(words) : new Error(words);
  }
}

class Refused extends Error {}

/**
 * Spans as a collector of OpenTelemetry takes them: the JSON form of OTLP, which is that of its protocol buffers but
 * for ids, which are hex. Whole numbers of 64 bits are text there, because JSON's numbers do not hold them.
 */
type Resource = Readonly<Record<string, SpanValue>>;

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
