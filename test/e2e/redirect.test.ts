/** Following a link: the destination, the error when there is no redirect, and the exact expiry. */
import { afterAll, describe, expect, test } from 'bun:test';
import { ManualClock } from '../../src/base/clock.ts';
import { redirectTypes } from '../../src/links/link.ts';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { sendRaw } from '../kit/raw-http.ts';
import { forceLongUrl } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { browser, program } from '../kit/visitors.ts';

const clock = new ManualClock();
const terse = await startTerseHere({ clock });
afterAll(() => terse.stop());
const call = callerOf(terse.url);

const visit = (path: string, headers: Record<string, string> = browser, method = 'GET') =>
  call(method, path, { key: undefined, headers });

async function create(fields: Record<string, unknown> = {}): Promise<string> {
  const body = { longUrl: 'https://example.com/there', ...fields };
  return (await call('POST', '/api/v1/links', { body })).body.shortCode;
}

const edit = (code: string, body: unknown) => call('PATCH', `/api/v1/links/${code}`, { body });
const inMs = (durationMs: number) => new Date(clock.now() + durationMs).toISOString();

describe('a live link', () => {
  test('leads to its destination with 302, for browsers and programs alike', async () => {
    const code = await create();
    for (const visitor of [browser, program]) {
      const answer = await visit(`/${code}`, visitor);
      expect(answer).toMatchObject({ status: 302, body: '' });
      expect(answer.headers.get('location')).toBe('https://example.com/there');
    }
  });

  test.each(redirectTypes.map(type => [type]))('can redirect with %i', async redirectType => {
    expect(await visit(`/${await create({ redirectType })}`)).toMatchObject({ status: redirectType });
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('is read-only: %s is rejected', async method => {
    const answer = await visit(`/${await create()}`, program, method);
    expectProblem(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
  });
});

describe('a link that does not redirect', () => {
  const cases = [
    ['missing', 404, 'not_found', /link not found/i, async () => 'no-such-link'],
    ['never issued', 404, 'not_found', /link not found/i, async () => 'zzzzzzz'],
    [
      'expired',
      410,
      'link_expired',
      /has expired/i,
      async () => {
        const code = await create({ expiresAt: inMs(1_000) });
        clock.advance(1_000);
        return code;
      },
    ],
    [
      'deleted',
      410,
      'link_deleted',
      /was deleted/i,
      async () => {
        const code = await create();
        await call('DELETE', `/api/v1/links/${code}`);
        return code;
      },
    ],
    [
      'disabled',
      410,
      'link_disabled',
      /switched off/i,
      async () => {
        const code = await create();
        await edit(code, { status: 'disabled' });
        return code;
      },
    ],
    [
      'exhausted',
      410,
      'link_exhausted',
      /used up/i,
      async () => {
        const code = await create({ maxClicks: 1 });
        await visit(`/${code}`);
        return code;
      },
    ],
    [
      'no longer allowed',
      410,
      'link_unsafe',
      /no longer allowed/i,
      async () => {
        const code = await create();
        forceLongUrl(terse.dataFolder, code, 'javascript:alert(1)');
        return code;
      },
    ],
  ] as const;

  test.each(cases)(
    'because it is %s says so: a page for browsers, a problem for programs',
    async (...row) => {
      const [, status, problem, words, makeCode] = row;
      const path = `/${await makeCode()}`;
      expectProblem(await visit(path, program), status, problem);
      const page = await visit(path, browser);
      expect(page.status).toBe(status);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('cache-control')).toBe('no-store');
      expect(page.body).toMatch(words);
      expect(page.body).toContain(`</span>${status}</p>`);
      for (const answer of [page, await visit(path, program)]) {
        expect(answer.headers.get('location')).toBeNull();
      }
    },
  );

  test('because it expired can be reported as missing, by a setting', async () => {
    const discreet = await startTerseHere({ clock, env: { TERSE_EXPIRED_STATUS: '404' } });
    try {
      const callDiscreet = callerOf(discreet.url);
      const body = { longUrl: 'https://example.com/', expiresAt: inMs(1_000) };
      const { shortCode } = (await callDiscreet('POST', '/api/v1/links', { body })).body;
      clock.advance(1_000);
      for (const headers of [browser, program]) {
        const [expired, missing] = await Promise.all(
          [shortCode, 'no-such-link'].map(code =>
            callDiscreet('GET', `/${code}`, { key: undefined, headers }),
          ),
        );
        expect(expired!.status).toBe(404);
        expect(expired!.body).toEqual(missing!.body);
      }
    } finally {
      await discreet.stop();
    }
  });
});

describe('expiry', () => {
  test.each(['cold', 'cached'])('is exact when the link is %s', async state => {
    const code = await create({ expiresAt: inMs(10_000) });
    const look = async () => (await visit(`/${code}`)).status;
    if (state === 'cached') expect(await look()).toBe(302);
    clock.advance(9_999);
    expect(await look()).toBe(302);
    clock.advance(1);
    expect(await look()).toBe(410);
    clock.advance(60_000);
    expect(await look()).toBe(410);
  });

  test('moved or removed by an edit counts at once', async () => {
    const code = await create({ expiresAt: inMs(5_000) });
    await visit(`/${code}`);
    await edit(code, { expiresAt: inMs(8_000) });
    clock.advance(6_000);
    expect(await visit(`/${code}`)).toMatchObject({ status: 302 });
    clock.advance(2_000);
    expect(await visit(`/${code}`)).toMatchObject({ status: 410 });
    await edit(code, { expiresAt: null });
    expect(await visit(`/${code}`)).toMatchObject({ status: 302 });
  });
});

describe('a limited link', () => {
  const ahead = ['Sec-Purpose', 'Purpose', 'X-Purpose', 'X-Moz'].map(
    name => [`${name}: prefetch`, { ...browser, [name]: 'prefetch' }, 'GET'] as const,
  );
  const bot = (agent: string) => ({ ...browser, 'User-Agent': agent });

  test.each([
    ['HEAD', browser, 'HEAD'],
    ['curl', program, 'GET'],
    ['no user agent', { ...browser, 'User-Agent': '' }, 'GET'],
    ['a crawler', bot('Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'), 'GET'],
    ['a chat preview', bot('Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)'), 'GET'],
    ['another chat preview', bot('WhatsApp/2.23.20.0'), 'GET'],
    ...ahead,
  ])('redirects %s without using a click', async (_who, headers, method) => {
    const code = await create({ maxClicks: 1 });
    for (let count = 0; count < 3; count += 1) {
      expect(await visit(`/${code}`, headers, method)).toMatchObject({ status: 302 });
    }
    expect((await call('GET', `/api/v1/links/${code}`)).body).toMatchObject({ usedClicks: 0 });
    expect(await visit(`/${code}`)).toMatchObject({ status: 302 });
    expect(await visit(`/${code}`, headers, method)).toMatchObject({ status: 410 });
  });

  test('redirects exactly as many people as its limit, however many come at once', async () => {
    const code = await create({ maxClicks: 10 });
    const answers = await Promise.all(Array.from({ length: 64 }, () => visit(`/${code}`)));
    const statuses = answers.map(answer => answer.status);
    expect(statuses.filter(status => status === 302)).toHaveLength(10);
    expect(statuses.filter(status => status === 410)).toHaveLength(54);
    const { body } = await call('GET', `/api/v1/links/${code}`);
    expect(body).toMatchObject({ usedClicks: 10, status: 'exhausted' });
  });

  test('works again when its limit is raised or removed', async () => {
    const code = await create({ maxClicks: 1 });
    await visit(`/${code}`);
    for (const maxClicks of [2, null]) {
      expect(await visit(`/${code}`)).toMatchObject({ status: 410 });
      await edit(code, { maxClicks });
      expect(await visit(`/${code}`)).toMatchObject({ status: 302 });
    }
  });
});

describe("the visitor's query", () => {
  const location = async (code: string, query: string) =>
    (await visit(`/${code}?${query}`)).headers.get('location');

  test('is dropped unless the link forwards it', async () => {
    expect(await location(await create(), 'a=1')).toBe('https://example.com/there');
  });

  test.each([
    ['https://example.com/a', 'b=1&c=2', 'https://example.com/a?b=1&c=2'],
    ['https://example.com/a?x=1', 'b=1', 'https://example.com/a?x=1&b=1'],
    ['https://example.com/a?', 'b=1', 'https://example.com/a?b=1'],
    ['https://example.com/a#part', 'b=1', 'https://example.com/a?b=1#part'],
    ['https://example.com/a', '', 'https://example.com/a'],
  ])('is appended to %s', async (longUrl, query, expected) => {
    expect(await location(await create({ longUrl, forwardQuery: true }), query)).toBe(expected);
  });

  test.each([
    '@evil.example',
    '/../../evil.example',
    '//evil.example',
    '\\\\evil.example',
    'https://evil.example/',
    '#@evil.example',
    '%0d%0aLocation:%20https://evil.example/',
    '%23@evil.example',
    'longUrl=https://evil.example&url=https://evil.example&redirect=https://evil.example',
  ])('?%s never changes the host', async query => {
    for (const longUrl of ['https://example.com', 'https://example.com/a?b#c', 'http://example.com:81/']) {
      const code = await create({ longUrl, forwardQuery: true });
      const there = new URL((await location(code, query))!);
      expect(there.origin).toBe(new URL(longUrl).origin);
      expect(there.username).toBe('');
    }
  });

  test('ends at a “#”, which no browser sends', async () => {
    const code = await create({ longUrl: 'https://example.com/a#part', forwardQuery: true });
    const request = `GET /${code}?b=1#@evil.example HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const [answer] = await sendRaw(terse.url, request);
    expect(answer!.headers.location).toBe('https://example.com/a?b=1#part');
  });
});
