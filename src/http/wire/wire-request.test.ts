import { describe, expect, test } from 'bun:test';
import { Fields } from './fields.ts';
import { WireRequest } from './wire-request.ts';

const peer = { address: '127.0.0.1' };

function requestOf(method: string, body?: Uint8Array<ArrayBuffer>, fields = new Fields([], [])): WireRequest {
  return new WireRequest({ method, path: '/a', query: 'b=c', isOldVersion: false }, fields, peer, body);
}

describe('the platform’s request', () => {
  test('has the path, query, headers and body of the one that came', async () => {
    const fields = new Fields(['host', 'x-a'], ['other.example', 'b']);
    const request = requestOf('POST', new Uint8Array([97, 98]), fields).toRequest();
    expect(request.url).toBe('http://localhost/a?b=c');
    expect(request.headers.get('x-a')).toBe('b');
    expect(await request.text()).toBe('ab');
  });

  test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('of %s is that', method => {
    expect(requestOf(method).toRequest().method).toBe(method);
  });

  test.each(['BREW', 'TRACK', 'GETS', 'TRACE', 'CONNECT', 'X'])(
    'of %s is never mistaken for another',
    method => {
      expect(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).not.toContain(
        requestOf(method).toRequest().method,
      );
    },
  );

  test.each(['GET', 'HEAD'])('of %s has no body', async method => {
    expect(
      await requestOf(method, new Uint8Array([97]))
        .toRequest()
        .text(),
    ).toBe('');
  });
});

test.each<[isOldVersion: boolean, connection: string | undefined, wishesToClose: boolean]>([
  [false, undefined, false],
  [false, 'keep-alive', false],
  [false, 'close', true],
  [true, undefined, true],
  [true, 'keep-alive', false],
  [true, 'close', true],
])(
  'of HTTP/1.0 (%p), a Connection header of %p asks to close: %p',
  (isOldVersion, connection, wishesToClose) => {
    const fields = connection === undefined ? new Fields([], []) : new Fields(['connection'], [connection]);
    const line = { method: 'GET', path: '/', query: '', isOldVersion };
    expect(new WireRequest(line, fields, peer).wishesToClose).toBe(wishesToClose);
  },
);
