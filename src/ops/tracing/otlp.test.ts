import { expect, test } from 'bun:test';
import { otlpDocument } from './otlp.ts';

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
