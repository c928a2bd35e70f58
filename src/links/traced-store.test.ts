import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { createTracer, type FinishedSpan, type TraceContext } from '../telemetry/tracing/tracer.ts';
import type { LinkStore } from './store.ts';
import { insertItem, sampleLink } from './store-samples.ts';
import { createMemoryStore } from './stores/memory.ts';
import { tracedStore } from './traced-store.ts';

const request: TraceContext = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };

function traced(store: LinkStore, parent: TraceContext | undefined) {
  const spans: FinishedSpan[] = [];
  const sink = { take: (span: FinishedSpan) => void spans.push(span) };
  const tracer = createTracer({ sink, clock: new ManualClock(), random: seededRandom(1), oneIn: 1 });
  return { spans, store: tracedStore(store, tracer, () => parent) };
}

describe('a store that is traced', () => {
  test('does the same as before, and each call is a span below its request', async () => {
    const { store, spans } = traced(createMemoryStore(), request);
    await store.insert([insertItem(sampleLink('abc'))]);
    expect((await store.find('abc'))?.longUrl).toBe('https://example.com/abc');
    expect(spans.map(({ name, parentSpanId, traceId }) => ({ name, parentSpanId, traceId }))).toEqual(
      ['store insert', 'store find'].map(name => ({
        name,
        parentSpanId: request.spanId,
        traceId: request.traceId,
      })),
    );
  });

  test('shows what failed, and fails in the same way', async () => {
    const failing = { ...createMemoryStore(), find: () => Promise.reject(new Error('down')) };
    const { store, spans } = traced(failing, request);
    await expect(store.find('abc')).rejects.toThrow('down');
    expect(spans.map(({ failure }) => failure)).toEqual(['down']);
  });

  test('records no span for calls without a request, or answered synchronously', async () => {
    const alone = traced(createMemoryStore(), undefined);
    await alone.store.find('abc');
    expect(alone.spans).toEqual([]);
    const within = traced(createMemoryStore(), request);
    expect(within.store.changeToken?.()).toEqual(createMemoryStore().changeToken?.());
    expect(within.spans).toEqual([]);
  });
});
