import { describe, expect, test } from 'bun:test';
import { z } from 'zod';
import { until } from '../../test/kit/until.ts';
import { type Actor, anonymous } from '../accounts/account.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { Problem } from '../base/errors.ts';
import { dispatcher } from './dispatch.ts';
import { BodyBudget } from './read-json.ts';
import { defineRoute, json } from './route.ts';

const kibibyte = 1024;
const budgetBytes = 256 * kibibyte;

/** A route that blocks its requests until it is released, behind a small budget. */
function slowRoute() {
  const bodies = new BodyBudget(budgetBytes);
  const gate = Promise.withResolvers<void>();
  let waiting = 0;
  const route = defineRoute({
    method: 'POST',
    path: '/slow',
    name: 'beSlow',
    summary: 'Takes its time',
    auth: 'optional',
    body: {
      schema: z.strictObject({ pad: z.string(), fail: z.boolean().optional() }),
      bytesMax: 128 * kibibyte,
      anonymousBytesMax: 64 * kibibyte,
    },
    answers: {},
    problems: [],
    async handle({ body }) {
      waiting += 1;
      await gate.promise;
      if (body.fail) throw new Error('the route failed');
      return json({});
    },
  });
  const handler = dispatcher([route], {
    identify: async (_route, request) => (request.headers.has('x-api-key') ? fakeActor('a') : anonymous),
    admit: () => ({ pause() {}, resume() {}, end() {} }),
    bodies,
    limits: undefined,
    addressOf: () => '',
    watch: () => ({ id: 'id-of-this', run: (work, subject) => work(subject), fault() {}, end() {} }),
  });
  const send = async (
    body: NonNullable<RequestInit['body']>,
    headers: Record<string, string> = { 'X-Api-Key': 'key' },
  ) => handler(new Request('http://localhost/slow', { method: 'POST', body, headers }));
  const untilWaiting = async (count: number): Promise<void> => {
    await until('all requests to wait', () => waiting >= count);
  };
  return { bodies, send, untilWaiting, letGo: gate.resolve };
}

const bodyOf = (bytes: number): string => JSON.stringify({ pad: 'a'.repeat(bytes - '{"pad":""}'.length) });
const announced = (bytes: number) => ({ 'X-Api-Key': 'key', 'Content-Length': String(bytes) });
const streamOf = (...pieces: (string | Error)[]): ReadableStream =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces) {
        if (typeof piece !== 'string') return controller.error(piece);
        controller.enqueue(new TextEncoder().encode(piece));
      }
      controller.close();
    },
  });

describe('a 503', () => {
  const answerTo = async (
    method: 'GET' | 'POST',
    options: { isUnknown?: boolean; failsAt?: 'identify'; repeat?: 'with-key' | 'as-is' },
  ) => {
    const fail = async (): Promise<never> => {
      throw new Problem('store_unavailable', options.isUnknown === false ? { outcome: 'none' } : {});
    };
    const route = defineRoute({
      ...{ method, path: '/x', name: 'x', summary: 'x', auth: 'none', answers: {}, problems: [] },
      ...(options.repeat !== undefined && { repeat: options.repeat }),
      handle: fail,
    });
    const handler = dispatcher([route], {
      identify: options.failsAt === 'identify' ? fail : async () => anonymous,
      admit: () => ({ pause() {}, resume() {}, end() {} }),
      bodies: new BodyBudget(budgetBytes),
      limits: undefined,
      addressOf: () => '',
      watch: () => ({ id: 'id-of-this', run: (work, subject) => work(subject), fault() {}, end() {} }),
    });
    const answer = await handler(new Request('http://localhost/x', { method }));
    return (await answer.json()) as { outcome?: string; detail: string };
  };

  test('to a write says whether it may have been applied, and then how to retry it', async () => {
    const advice = {
      'with-key': /same Idempotency-Key/,
      'as-is': /repeated as it is/,
      none: /current state/,
    };
    for (const repeat of ['with-key', 'as-is', undefined] as const) {
      const unknown = await answerTo('POST', repeat === undefined ? {} : { repeat });
      expect(unknown.outcome).toBe('unknown');
      expect(unknown.detail).toStartWith('The link store is not available. Whether this was carried out is');
      const given = Object.values(advice).filter(words => words.test(unknown.detail));
      expect(given).toEqual([advice[repeat ?? 'none']]);
    }
    const none = await answerTo('POST', { isUnknown: false });
    expect([none.outcome, none.detail]).toEqual(['none', 'The link store is not available']);
  });

  test('to a read has no outcome', async () => {
    const read = await answerTo('GET', {});
    expect(read).not.toHaveProperty('outcome');
    expect(read.detail).toBe('The link store is not available');
  });

  test('before the route has begun means that nothing was done', async () => {
    expect((await answerTo('POST', { failsAt: 'identify' })).outcome).toBe('none');
  });
});

describe('the bodies of all requests in progress', () => {
  test('fit into a fixed budget; a request beyond it is asked to retry', async () => {
    const { bodies, send, untilWaiting, letGo } = slowRoute();
    const large = bodyOf(120 * kibibyte);
    const held = [send(large), send(streamOf(large))];
    await untilWaiting(2);
    expect(bodies.bytes).toBe(240 * kibibyte);
    for (const body of [large, streamOf(large), streamOf(...large)]) {
      const refused = await send(body);
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(await refused.json()).toMatchObject({ code: 'overloaded' });
    }
    expect(bodies.bytes).toBe(240 * kibibyte);
    letGo();
    for (const response of await Promise.all(held)) expect(response.status).toBe(200);
    expect(bodies.bytes).toBe(0);
    expect((await send(large)).status).toBe(200);
  });

  test('keep half of the budget for callers with a key', async () => {
    const { bodies, send, untilWaiting, letGo } = slowRoute();
    const body = bodyOf(60 * kibibyte);
    const held = [send(body, {}), send(body, {})];
    await untilWaiting(2);
    expect((await send(body, {})).status).toBe(503);
    held.push(send(body));
    await untilWaiting(3);
    letGo();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(bodies.bytes).toBe(0);
  });

  test('release their bytes however the request ends', async () => {
    const { bodies, send, letGo } = slowRoute();
    letGo();
    const large = bodyOf(120 * kibibyte);
    for (const [body, status] of [
      [bodyOf(200 * kibibyte), 413],
      [streamOf(bodyOf(200 * kibibyte)), 413],
      [large.slice(0, -1), 400],
      [JSON.stringify({ other: 'a'.repeat(50_000) }), 400],
      [JSON.stringify({ pad: 'a', fail: true }), 500],
      [streamOf(large.slice(0, 1000), new Error('gone')), 400],
      [new Uint8Array(1000).fill(0xff), 400],
    ] as const) {
      expect((await send(body)).status).toBe(status);
      expect(bodies.bytes).toBe(0);
    }
  });

  test('reserve no bytes for a length that is only announced', async () => {
    const { bodies, send, letGo } = slowRoute();
    letGo();
    const silent = Array.from({ length: 16 }, () => send(new ReadableStream({}), announced(120 * kibibyte)));
    for (const request of silent) request.catch(() => {});
    expect((await send(bodyOf(120 * kibibyte))).status).toBe(200);
    expect(bodies.bytes).toBe(0);
  });
});

test('callers without a key may send less where the route says so', async () => {
  const { send, letGo } = slowRoute();
  letGo();
  const body = bodyOf(100 * kibibyte);
  expect((await send(body)).status).toBe(200);
  expect((await send(body, {})).status).toBe(413);
  expect((await send(bodyOf(60 * kibibyte), {})).status).toBe(200);
});

/** A route that consists of its handler alone. */
function routed(handle: Parameters<typeof defineRoute>[0]['handle'], identify: () => Promise<Actor>) {
  const route = defineRoute({
    method: 'GET',
    path: '/here',
    name: 'beHere',
    summary: 'Is there',
    auth: 'optional',
    answers: {},
    problems: [],
    handle,
  });
  return dispatcher([route], {
    identify,
    admit: () => ({ pause() {}, resume() {}, end() {} }),
    bodies: new BodyBudget(budgetBytes),
    limits: undefined,
    addressOf: () => '',
    watch: () => ({ id: 'id-of-this', run: (work, subject) => work(subject), fault() {}, end() {} }),
  });
}

test('a long-running handler learns that its caller has lost access', async () => {
  let refusal: Problem | undefined;
  const handler = routed(
    async ({ actor, identifyAgain }) => {
      expect(await identifyAgain()).toEqual(actor);
      refusal = new Problem('unauthorized');
      await identifyAgain();
      return json({});
    },
    async () => {
      if (refusal !== undefined) throw refusal;
      return fakeActor('a');
    },
  );
  expect((await handler(new Request('http://localhost/here'))).status).toBe(401);
});

test('while the store is down, callers get a Retry-After', async () => {
  const handler = routed(
    () => {
      throw new Problem('store_unavailable');
    },
    async () => anonymous,
  );
  const response = await handler(new Request('http://localhost/here'));
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('1');
});
