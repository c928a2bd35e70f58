/**
 * Brings finished spans to a collector, many at a time and never in anybody's way: what is traced does not wait, the
 * queue is bounded, and a collector that is away or slow costs spans and nothing else. A batch that it did not take is
 * sent once more with the next; what finds the queue full is dropped and counted.
 */
import type { Clock } from '../../base/clock.ts';
import { otlpDocument, type Resource } from './otlp.ts';
import type { FinishedSpan, SpanSink } from './span.ts';

export interface SpanExporterOptions {
  /** Where the collector takes spans, such as `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string;
  readonly resource: Resource;
  readonly clock: Clock;
  /** Told when sending fails after it went well, not each time. */
  readonly onAway: (reason: string) => void;
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
  #isAway = false;
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
    if (this.#queue.length >= batchMax && !this.#isAway) void this.#send();
  }

  /** Sends what is left, as far as the collector takes it at once; the rest is lost. */
  async close(): Promise<void> {
    this.#stopPeriods();
    await this.#sending;
    let left = this.#queue.length;
    while (left > 0) {
      await this.#send();
      if (this.#isAway || this.#queue.length >= left) break;
      left = this.#queue.length;
    }
    this.dropped += this.#queue.length;
    this.#queue = [];
  }

  /** One at a time: a collector that is slow is not asked more of. */
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
      this.#isAway = false;
    } catch (error) {
      const wasAway = this.#isAway;
      this.#isAway = true;
      if (!wasAway) this.#options.onAway(error instanceof Error ? error.message : String(error));
      if (!(error instanceof Refused)) return;
      // It has said no to these; asking again would get the same answer.
      this.dropped += batch.length;
    }
    this.#queue = this.#queue.slice(batch.length);
  }

  async #post(body: string): Promise<void> {
    const { url, clock } = this.#options;
    const abort = new AbortController();
    const cancel = clock.after(answerMaxMs, () => abort.abort());
    try {
      const headers = { 'Content-Type': 'application/json' };
      const { status } = await fetch(url, {
        method: 'POST',
        headers,
        body,
        redirect: 'manual',
        signal: abort.signal,
      });
      if (status >= 200 && status < 300) return;
      const words = `the collector answered ${status}`;
      throw status < 500 && status !== 429 ? new Refused(words) : new Error(words);
    } finally {
      cancel();
      // Whatever is left of its answer is of no interest, and must not keep the connection.
      abort.abort();
    }
  }
}

class Refused extends Error {}
