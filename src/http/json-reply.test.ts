import { expect, test } from 'bun:test';
import { JsonReply } from './json-reply.ts';
import type { Answer } from './wire/answer.ts';
import { codedAnswer } from './wire/content-coding.ts';

const reply = () =>
  new JsonReply('{"title":"ü"}', 201, { 'Content-Type': 'application/json', Location: '/a' });

test('a reply is one answer with its length in bytes', () => {
  const answer = reply().toAnswer();
  expect(answer).toEqual({
    status: 201,
    head: 'HTTP/1.1 201 Created\r\ncontent-type: application/json\r\nlocation: /a\r\nContent-Length: 14\r\n',
    body: '{"title":"ü"}',
    isAscii: false,
  });
  expect(new JsonReply('{}', 200, {}).toAnswer()).toMatchObject({ isAscii: true });
});

test('a header is there once, whatever its case', () => {
  const changed = reply();
  changed.headers.set('LOCATION', '/b');
  changed.headers.set('X-Request-Id', '1');
  expect(changed.headers.get('Location')).toBe('/b');
  expect(changed.headers.get('x-request-id')).toBe('1');
  expect(String(Reflect.get(changed.toAnswer(), 'head')).match(/location/g)).toHaveLength(1);
  expect(changed.with('{}').toAnswer()).toMatchObject({ status: 201, body: '{}' });
  expect(changed.with('{}').headers.get('location')).toBe('/b');
});

test('a header with a line end is a fault, not a second header', () => {
  const bad = reply();
  bad.headers.set('location', '/\r\nset-cookie: a');
  expect(() => bad.toAnswer()).toThrow('location');
});

test('tests and clients read it like a response', async () => {
  expect(await reply().json()).toEqual({ title: 'ü' });
  expect(await reply().text()).toBe('{"title":"ü"}');
});

test('a reply of some kilobytes can be compressed, one with a secret cannot', () => {
  const request = new Headers({ 'accept-encoding': 'gzip' });
  const text = JSON.stringify({ title: 'a'.repeat(2_000) });
  const coded = codedAnswer(reply().with(text).toAnswer() as Answer, request)!;
  expect(coded.head).toContain('Content-Encoding: gzip\r\n');
  expect(new TextDecoder().decode(Bun.gunzipSync(Buffer.from(coded.body, 'latin1')))).toBe(text);
  const secret = reply().with(text);
  secret.headers.set('cache-control', 'no-store, no-transform');
  expect(codedAnswer(secret.toAnswer() as Answer, request)).toBeUndefined();
});

test('a long reply is left to the thread that compresses it', async () => {
  const text = JSON.stringify({ title: 'a'.repeat(20_000) });
  const answer = reply().with(text).toAnswer();
  expect(answer).toBeInstanceOf(Response);
  expect(await (answer as Response).text()).toBe(text);
});
