import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { RoutedRequest } from './api-request.ts';
import { Fields } from './wire/fields.ts';
import { WireRequest } from './wire/wire-request.ts';

const names = ['cookie', 'x-api-key', 'accept', 'authorization', 'x-forwarded-for'];

/** What a handler can see of a request. */
const seen = (request: Pick<RoutedRequest, 'method' | 'url' | 'headers'>) => ({
  method: request.method,
  url: request.url,
  headers: names.map(name => [request.headers.get(name), request.headers.has(name)]),
  keys: new Set(request.headers.keys()),
});

test('a request has the same properties as the platform’s own', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE', 'GET', 'BREW'),
      fc.constantFrom('', 'a=b', 'a=%20&b'),
      fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom('a', 'b=1', 'Bearer x', 'ü')), {
        maxLength: 6,
      }),
      fc.option(fc.uint8Array({ minLength: 1, maxLength: 50 }), { nil: undefined }),
      async (method, query, lines, content) => {
        const fields = new Fields(
          lines.map(([name]) => name),
          lines.map(([, value]) => value),
        );
        const body = content && new Uint8Array(content);
        const line = { method, path: '/api/v1/links', query, isOldVersion: false };
        const wire = new WireRequest(line, fields, { address: '127.0.0.1' }, body);
        const ours = new RoutedRequest(wire, {});
        const platform = wire.toRequest();
        expect(seen(ours)).toEqual(seen(platform));
        expect(ours.whole).toEqual(body);
        if (method !== 'GET') expect(await ours.bytes()).toEqual(await platform.bytes());
      },
    ),
  );
});

test('a body that arrives later is read as it arrives', async () => {
  const stream = new Response('later').body!;
  const line = { method: 'POST', path: '/', query: '', isOldVersion: false };
  const request = new RoutedRequest(
    new WireRequest(line, new Fields([], []), { address: '127.0.0.1' }, stream),
    {},
  );
  expect(request.whole).toBeUndefined();
  expect(request.body).toBe(stream);
  expect(Buffer.from(await request.bytes()).toString()).toBe('later');
});
