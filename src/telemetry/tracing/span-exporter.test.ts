import { afterEach, describe, expect, test } from 'bun:test';
import { until } from '../../../test/kit/until.ts';
import { ManualClock } from '../../base/clock.ts';
import { otlpDocument, SpanExporter } from './span-exporter.ts';
import type { FinishedSpan } from './tracer.ts';

const spanOf = (name: string): FinishedSpan => ({
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  parentSpanId: undefined,
  name,
  kind: 'internal',
  startedAt: 0,
  endedAt: 1,
  attributes: {},
  failure: undefined,
});

interface Document {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly FinishedSpan[] }[];
  }[];
}

interface Collected {
  readonly names: string[];
  readonly type: string | null;
}

/** A collector that keeps what it accepts, and answers as the test sets it. */
function collector() {
  const collected: Collected[] = [];
  const answers: number[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { resourceSpans } = (await request.json()) as Document;
      const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(each => each.spans));
      const status = answers.shift() ?? 200;
      if (status === 200)
        collected.push({ names: spans.map(({ name }) => name), type: request.headers.get('content-type') });
      return new Response('{}', { status });
    },
  });
  return { server, collected, answers, url: `http://127.0.0.1:${server.port}/v1/traces` };
}

describe('the exporter of spans', () => {
  let stop = async (): Promise<void> => {};
  afterEach(() => stop());

  function exporting() {
    const { server, collected, answers, url } = collector();
    const clock = new ManualClock();
    const outages: string[] = [];
    const exporter = new SpanExporter({ url, resource: {}, clock, onDown: reason => outages.push(reason) });
    stop = async () => {
      await exporter.close();
      await server.stop(true);
    };
    const passPeriod = async (): Promise<void> => {
      clock.advance(2_000);
      const before = exporter.exported + exporter.dropped + outages.length;
      await until('an export', () => exporter.exported + exporter.dropped + outages.length > before);
    };
    return { clock, exporter, collected, answers, outages, passPeriod, server };
  }

  test('sends what has ended together, a moment later', async () => {
    const { exporter, collected, passPeriod } = exporting();
    for (const name of ['one', 'two']) exporter.take(spanOf(name));
    expect(collected).toEqual([]);
    await passPeriod();
    expect(collected).toEqual([{ names: ['one', 'two'], type: 'application/json' }]);
    expect(exporter.exported).toBe(2);
  });

  test('keeps for the next batch what the collector could not accept, and reports that once', async () => {
    const { clock, exporter, collected, answers, outages, passPeriod } = exporting();
    answers.push(503, 429);
    exporter.take(spanOf('one'));
    await passPeriod();
    expect(outages).toEqual(['the collector answered 503']);
    // The second failure is not reported, so that there is nothing to wait for but the next success.
    await until('the next success', () => {
      clock.advance(2_000);
      return exporter.exported > 0;
    });
    expect(collected).toEqual([{ names: ['one'], type: 'application/json' }]);
    expect(outages).toHaveLength(1);
  });

  test('drops what the collector refuses, and goes on', async () => {
    const { exporter, collected, answers, passPeriod } = exporting();
    answers.push(400);
    exporter.take(spanOf('bad'));
    await passPeriod();
    exporter.take(spanOf('good'));
    await passPeriod();
    expect(collected.flatMap(({ names }) => names)).toEqual(['good']);
    expect(exporter.dropped).toBe(1);
  });

  test('holds a bounded number, and counts what finds no room', async () => {
    const { exporter, server } = exporting();
    await server.stop(true);
    for (let n = 0; n < 5_000; n += 1) exporter.take(spanOf(String(n)));
    expect(exporter.waiting).toBe(4_096);
    expect(exporter.dropped).toBe(904);
  });

  test('sends what is left when it is closed, and counts what the collector does not accept', async () => {
    const { exporter, collected, server } = exporting();
    for (let n = 0; n < 600; n += 1) exporter.take(spanOf(String(n)));
    await exporter.close();
    expect(collected.flatMap(({ names }) => names)).toHaveLength(600);
    await server.stop(true);
    exporter.take(spanOf('late'));
    await exporter.close();
    expect(exporter.dropped).toBe(1);
  });
});

test('spans are written in the JSON form of OTLP, with ids in hex and 64-bit numbers as text', () => {
  const document = otlpDocument(
    [
      {
        traceId: 'a'.repeat(32),
        spanId: 'b'.repeat(16),
        parentSpanId: 'c'.repeat(16),
        name: 'createLink',
        kind: 'server',
        startedAt: 1_767_225_600_000.25,
        endedAt: 1_767_225_600_012.5,
        attributes: {
          'http.request.method': 'POST',
          'http.response.status_code': 503,
          share: 0.5,
          cold: true,
        },
        failure: 'store_unavailable',
      },
    ],
    { 'service.name': 'terse' },
  );
  expect(JSON.parse(document)).toEqual({
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'terse' } }] },
        scopeSpans: [
          {
            scope: { name: 'terse' },
            spans: [
              {
                traceId: 'a'.repeat(32),
                spanId: 'b'.repeat(16),
                parentSpanId: 'c'.repeat(16),
                name: 'createLink',
                kind: 2,
                startTimeUnixNano: '1767225600000250000',
                endTimeUnixNano: '1767225600012500000',
                attributes: [
                  { key: 'http.request.method', value: { stringValue: 'POST' } },
                  { key: 'http.response.status_code', value: { intValue: '503' } },
                  { key: 'share', value: { doubleValue: 0.5 } },
                  { key: 'cold', value: { boolValue: true } },
                ],
                status: { code: 2, message: 'store_unavailable' },
              },
            ],
          },
        ],
      },
    ],
  });
});

test('a span that begins a trace and goes well has neither a parent nor a status', () => {
  const span = {
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    parentSpanId: undefined,
    name: 'sweep',
    kind: 'internal',
    startedAt: 0,
    endedAt: 1,
    attributes: {},
    failure: undefined,
  } as const;
  const { resourceSpans } = JSON.parse(otlpDocument([span], {}));
  const [written] = resourceSpans[0].scopeSpans[0].spans;
  expect(written).not.toHaveProperty('parentSpanId');
  expect(written).toMatchObject({ kind: 1, status: {} });
});
