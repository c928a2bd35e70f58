import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { createAsk, type ExchangeRequest, NoAnswer } from './ask.ts';
import { isFailure, type NoAnswerReason, type Outcome } from './health.ts';

let clock: ManualClock;
let names: Record<string, readonly string[]>;
let requests: ExchangeRequest[];
let answer: (request: ExchangeRequest) => Promise<number>;
beforeEach(() => {
  clock = new ManualClock();
  names = { 'example.com': ['93.184.216.34', '2606:2800:220:1::1'] };
  requests = [];
  answer = async () => 200;
});

const ask = (url: string): Promise<Outcome> =>
  createAsk({
    async resolve(host) {
      const addresses = names[host];
      if (addresses === undefined) throw new Error('ENOTFOUND');
      return addresses;
    },
    exchange(request) {
      requests.push(request);
      return answer(request);
    },
    clock,
  })(url);

const unanswered = (reason: NoAnswerReason): Outcome => ({ kind: 'unanswered', reason });
const answered = (status: number): Outcome => ({ kind: 'answered', status });
const asked = (): string[] => requests.map(({ method, address }) => `${method} ${address}`);

describe('a destination', () => {
  test('is requested at a resolved and checked address, and not by its name', async () => {
    expect(await ask('https://example.com/a?b#c')).toEqual(answered(200));
    expect(asked()).toEqual(['HEAD 93.184.216.34']);
    expect(requests[0]?.url.hostname).toBe('example.com');
  });

  test('is requested over IPv6 where there is nothing else', async () => {
    names['example.com'] = ['2606:2800:220:1::1'];
    await ask('https://example.com/');
    expect(asked()).toEqual(['HEAD 2606:2800:220:1::1']);
  });

  test('is resolved again for every check, and every address is validated', async () => {
    answer = async () => {
      names['example.com'] = ['127.0.0.1'];
      return 404;
    };
    expect(await ask('https://example.com/')).toEqual(unanswered('not_public'));
    expect(asked()).toEqual(['HEAD 93.184.216.34']);
  });

  test.each([
    ['a private address', ['10.0.0.1']],
    ['a private address among public ones', ['93.184.216.34', '169.254.169.254']],
    ['loopback inside IPv6', ['::ffff:127.0.0.1']],
    ['an address through NAT64 that is private', ['64:ff9b::10.0.0.1']],
  ])('that resolves to %s is not asked', async (_what, addresses) => {
    names['example.com'] = addresses;
    expect(await ask('http://example.com/')).toEqual(unanswered('not_public'));
    expect(requests).toEqual([]);
  });

  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://[::1]/',
    'http://[::ffff:7f00:1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00::1]/',
  ])('%s is not asked, however it is written', async url => {
    expect(await ask(url)).toEqual(unanswered('not_public'));
    expect(requests).toEqual([]);
  });

  test('whose name does not resolve is distinguished from one that is not public', async () => {
    expect(await ask('https://gone.example/')).toEqual(unanswered('no_such_name'));
    names['empty.example'] = [];
    expect(await ask('https://empty.example/')).toEqual(unanswered('no_such_name'));
  });

  test('that is no web address is not requested', async () => {
    expect(await ask('ftp://example.com/')).toEqual(unanswered('no_http'));
    expect(await ask('nonsense')).toEqual(unanswered('no_http'));
    expect(requests).toEqual([]);
  });
});

describe('HEAD, then GET', () => {
  test.each([403, 404, 405, 500, 501])(
    'a HEAD that is answered with %p is followed by a GET',
    async status => {
      answer = async ({ method }) => (method === 'HEAD' ? status : 200);
      expect(await ask('https://example.com/')).toEqual(answered(200));
      expect(requests.map(({ method }) => method)).toEqual(['HEAD', 'GET']);
    },
  );

  test.each([200, 204, 301, 302, 308, 401, 429])('%p is final, and no redirect is followed', async status => {
    answer = async () => status;
    expect(await ask('https://example.com/')).toEqual(answered(status));
    expect(requests).toHaveLength(1);
  });

  test('a server that closes the connection on HEAD is tried with GET; one that cannot be reached is not', async () => {
    answer = async ({ method }) => {
      if (method === 'HEAD') throw new NoAnswer('no_http');
      return 200;
    };
    expect(await ask('https://example.com/')).toEqual(answered(200));
    requests = [];
    answer = async () => {
      throw new NoAnswer('no_connection');
    };
    expect(await ask('https://example.com/')).toEqual(unanswered('no_connection'));
    expect(requests).toHaveLength(1);
  });
});

describe('the timeout of two seconds', () => {
  test('limits the response, and then closes the connection', async () => {
    answer = () => new Promise<never>(() => {});
    const outcome = ask('https://example.com/');
    await yieldToEventLoop();
    clock.advance(1_999);
    expect(requests[0]?.signal.aborted).toBe(false);
    clock.advance(1);
    expect(await outcome).toEqual(unanswered('too_slow'));
    expect(requests[0]?.signal.aborted).toBe(true);
  });

  test('includes the DNS lookup', async () => {
    const never = createAsk({ resolve: () => new Promise<never>(() => {}), exchange: answer, clock });
    const outcome = never('https://example.com/');
    await yieldToEventLoop();
    clock.advance(2_000);
    expect(await outcome).toEqual(unanswered('too_slow'));
  });
});

test('gone and broken is failing; a server that forbids, throttles or redirects is up', () => {
  for (const status of [404, 410, 500, 503])
    expect([status, isFailure(answered(status))]).toEqual([status, true]);
  for (const status of [200, 301, 401, 403, 405, 429, 451])
    expect([status, isFailure(answered(status))]).toEqual([status, false]);
  expect(isFailure(unanswered('too_slow'))).toBe(true);
});
