/** Traces as an OpenTelemetry collector receives them from a running server, and the cost of its outage. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { metricOf } from '../kit/follow.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(60_000);

interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { key: string; value: { stringValue?: string; intValue?: string } }[];
}

function startCollector() {
  const spans: CollectedSpan[] = [];
  const paths = new Set<string>();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      paths.add(`${request.method} ${new URL(request.url).pathname}`);
      const body = (await request.json()) as {
        resourceSpans: { scopeSpans: { spans: CollectedSpan[] }[] }[];
      };
      for (const { scopeSpans } of body.resourceSpans)
        for (const scope of scopeSpans) spans.push(...scope.spans);
      return Response.json({});
    },
  });
  return { spans, paths, server, url: `http://127.0.0.1:${server.port}` };
}

const attribute = ({ attributes }: CollectedSpan, name: string): string | undefined => {
  const value = attributes.find(({ key }) => key === name)?.value;
  return value?.stringValue ?? value?.intValue;
};

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';
const almostNone = { TERSE_TRACE_ONE_IN: '1000000' };

describe('with a collector and a trusted peer', async () => {
  const collector = startCollector();
  const terse = await startTerseHere({
    env: { TERSE_TRACES: collector.url, TERSE_TRUSTED_PROXIES: '127.0.0.1/32', ...almostNone },
  });
  afterAll(async () => {
    await terse.stop();
    await collector.server.stop(true);
  });
  const call = callerOf(terse.url);

  test('a request is a span of the trace that it names, and its calls of the store are child spans', async () => {
    const headers = { traceparent: `00-${traceId}-${parentId}-01`, 'X-Request-Id': 'traced-1' };
    const made = await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' }, headers });
    expect(made.status).toBe(201);
    await until('the spans of the request', () => collector.spans.some(({ name }) => name === 'createLink'));
    const request = collector.spans.find(({ name }) => name === 'createLink')!;
    expect(request).toMatchObject({ traceId, parentSpanId: parentId, kind: 2 });
    expect(attribute(request, 'http.request.method')).toBe('POST');
    expect(attribute(request, 'http.route')).toBe('/api/v1/links');
    expect(attribute(request, 'http.response.status_code')).toBe('201');
    expect(attribute(request, 'terse.request_id')).toBe('traced-1');
    const inserted = collector.spans.find(({ name }) => name === 'store insert')!;
    expect(inserted).toMatchObject({ traceId, parentSpanId: request.spanId });
    expect(BigInt(inserted.startTimeUnixNano) >= BigInt(request.startTimeUnixNano)).toBe(true);
    expect(BigInt(inserted.endTimeUnixNano) <= BigInt(request.endTimeUnixNano)).toBe(true);
    expect([...collector.paths]).toEqual(['POST /v1/traces']);
  });

  test('a caller that asks for no trace gets none, and redirects are never traced', async () => {
    const before = collector.spans.length;
    const { body } = await call('POST', '/api/v1/links', {
      body: { longUrl: 'https://example.com/' },
      headers: { traceparent: `00-${traceId}-${parentId}-00` },
    });
    const headers = { traceparent: `00-${traceId}-${parentId}-01` };
    expect((await call('GET', `/${body.shortCode}`, { headers })).status).toBe(302);
    // Another span after them shows that theirs would have come by now.
    await call('GET', '/api/v1/links', { headers });
    await until('the last span', () => collector.spans.some(({ name }) => name === 'listLinks'));
    expect(collector.spans.slice(before).some(({ name }) => name === 'createLink')).toBe(false);
    expect(collector.spans.some(({ name }) => /redirect|GET/.test(name))).toBe(false);
  });
});

test.each([
  ['asks for recording', '01', almostNone, 0],
  ['asks not to be recorded', '00', { TERSE_TRACE_ONE_IN: '1' }, 20],
])('an untrusted peer that %s does not decide it', async (_, flags, env, expected) => {
  const collector = startCollector();
  // Trusts another peer, but not this one.
  const terse = await startTerseHere({
    env: { TERSE_TRACES: collector.url, TERSE_TRUSTED_PROXIES: '192.0.2.0/24', ...env },
  });
  try {
    const headers = { traceparent: `00-${traceId}-${parentId}-${flags}`, 'X-Forwarded-For': '192.0.2.1' };
    for (let n = 0; n < 20; n += 1)
      expect((await callerOf(terse.url)('GET', '/api/v1/links', { headers })).status).toBe(200);
  } finally {
    // The remaining spans have been sent by then.
    await terse.stop();
    await collector.server.stop(true);
  }
  const spans = collector.spans.filter(({ name }) => name === 'listLinks');
  expect(spans).toHaveLength(expected);
  for (const span of spans) expect(span).toMatchObject({ traceId, parentSpanId: parentId });
});

test('a collector that is down costs spans and nothing else, and one line says so', async () => {
  const { server, url } = startCollector();
  await server.stop(true);
  const terse = await startTerseHere({ env: { TERSE_TRACES: url } });
  try {
    const call = callerOf(terse.url);
    const isExported = (): boolean => terse.logged().includes('traces cannot be sent');
    await until('a line about it', async () => {
      expect((await call('GET', '/api/v1/links')).status).toBe(200);
      return isExported();
    });
    expect(await metricOf(terse.url, 'terse_spans_total{result="exported"}')).toBe(0);
  } finally {
    await terse.stop();
  }
});
