import { afterEach, expect, test } from 'bun:test';
import { yieldToEventLoop } from '../../../../base/clock.ts';
import { createLink, createLinks, editLink, signIn } from './calls.ts';

const realFetch = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = realFetch;
});

/** Answers each request when the test says so. */
function server() {
  const asked: { readonly headers: Headers; readonly answer: (response: Response) => void }[] = [];
  globalThis.fetch = ((_path: string, { headers }: RequestInit) =>
    new Promise<Response>(answer => asked.push({ headers: new Headers(headers), answer }))) as typeof fetch;
  return asked;
}

test('an import that is stopped during a request neither waits for a limit nor sends again', async () => {
  const asked = server();
  const stop = new AbortController();
  const creating = createLinks([{ longUrl: 'https://a.example/' }], 'key', stop.signal).catch(
    error => error.name,
  );
  stop.abort();
  asked[0]!.answer(new Response('{}', { status: 429, headers: { 'Retry-After': '1' } }));
  expect(await creating).toBe('AbortError');
  await yieldToEventLoop();
  expect(asked).toHaveLength(1);
});

test.each([
  ['an answer that is cut off', new Response('{"shortCode": "a', { status: 201 })],
  ['a proxy that got none', new Response('Bad gateway', { status: 502 })],
])('to a change, %s leaves unknown whether it was made', async (_name, response) => {
  const asked = server();
  const creating = createLink({ longUrl: 'https://a.example/' }, 'the-key').catch(error => error);
  expect(asked[0]!.headers.get('Idempotency-Key')).toBe('the-key');
  asked[0]!.answer(response.clone());
  expect((await creating).message).toContain('nothing is created twice');
  const editing = editLink('code', { title: 'New' }).catch(error => error);
  asked[1]!.answer(response);
  expect((await editing).message).toContain('it is not known whether the change was made');
});

test('signing in without an answer says only that the server cannot be reached', async () => {
  const asked = server();
  const entering = signIn({ key: 'a-key' }).catch(error => error);
  asked[0]!.answer(new Response('Bad gateway', { status: 502 }));
  expect((await entering).message).toBe('The server cannot be reached.');
});
