import { afterEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import type { FinishedSpan } from './span.ts';
import { SpanExporter } from './span-exporter.ts';

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

/** A collector that keeps what it takes, and answers whatever it is told to. */
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
    const away: string[] = [];
    const exporter = new SpanExporter({ url, resource: {}, clock, onAway: reason => away.push(reason) });
    stop = async () => {
      await exporter.close();
      await server.stop(true);
    };
    const passPeriod = async (): Promise<void> => {
      clock.advance(2_000);
      const before = exporter.exported + exporter.dropped + away.length;
      for (
        let turn = 0;
        turn < 500 && exporter.exported + exporter.dropped + away.length === before;
        turn += 1
      )
        await Bun.sleep(1);
    };
    return { exporter, collected, answers, away, passPeriod, server };
  }

  test('sends what has ended together, a moment later', async () => {
    const { exporter, collected, passPeriod } = exporting();
    for (const name of ['one', 'two']) exporter.take(spanOf(name));
    expect(collected).toEqual([]);
    await passPeriod();
    expect(collected).toEqual([{ names: ['one', 'two'], type: 'application/json' }]);
    expect(exporter.exported).toBe(2);
  });

  test('keeps for the next time what the collector could not take, and complains once', async () => {
    const { exporter, collected, answers, away, passPeriod } = exporting();
    answers.push(503, 429);
    exporter.take(spanOf('one'));
    await passPeriod();
    expect(away).toEqual(['the collector answered 503']);
    // The second failure is not told, so that there is nothing to wait for but the next success.
    for (let periods = 0; periods < 5 && exporter.exported === 0; periods += 1) await passPeriod();
    expect(collected).toEqual([{ names: ['one'], type: 'application/json' }]);
    expect(away).toHaveLength(1);
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

  test('sends what is left when it is closed, and counts what nobody takes any more', async () => {
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
