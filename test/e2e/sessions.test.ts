/** Signing in over HTTP: the cookie, from which sites it is accepted, what ends a session, and that nothing reveals secrets. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Answer, callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { adminKey, startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';

setDefaultTimeout(60_000);

const terse = await startTerseHere({ env: { TERSE_LIMITS: 'signIn=off,signUp=off', TERSE_SIGNUP: 'on' } });
afterAll(() => terse.stop());
const call = callerOf(terse.url);

const sessionPath = '/api/v1/session';
const password = 'correct horse battery';
const ours = { 'Sec-Fetch-Site': 'same-origin' };

/** Signs in, and returns the headers that a browser would send from then on. */
const cookieOf = (answer: Answer) => ({ Cookie: answer.headers.get('set-cookie')!.split(';')[0]! });
const signIn = (body: unknown, headers: Record<string, string> = {}) =>
  call('POST', sessionPath, { key: undefined, body, headers });
const signUp = async (email: string) => {
  const body = { name: 'Somebody', email, password };
  expect(await call('POST', '/api/v1/sign-up', { key: undefined, body })).toMatchObject({ status: 204 });
};
const as = (cookie: Record<string, string>, method: string, path: string, body?: unknown) =>
  call(method, path, {
    key: undefined,
    headers: { ...cookie, ...ours },
    ...(body !== undefined && { body }),
  });

describe('the first admin', () => {
  test('signs in with the key, sets an address and a password, and signs in with those', async () => {
    const first = await signIn({ key: adminKey }, { 'User-Agent': 'Firefox' });
    expect(first).toMatchObject({
      status: 201,
      body: {
        account: { role: 'admin', hasPassword: false },
        session: { isCurrent: true, userAgent: 'Firefox' },
      },
    });
    const cookie = cookieOf(first);
    const change = { email: 'root@example.com', password };
    expect(await as(cookie, 'PATCH', '/api/v1/account', change)).toMatchObject({
      status: 200,
      body: { email: 'root@example.com', hasPassword: true },
    });
    const second = await signIn({ email: 'Root@Example.com', password });
    expect(second.status).toBe(201);
    expect(await as(cookieOf(second), 'GET', '/api/v1/accounts')).toMatchObject({ status: 200 });
  });
});

describe('the cookie', () => {
  test('cannot be read by scripts and is not sent from other sites', async () => {
    const [, ...attributes] = (await signIn({ key: adminKey })).headers.get('set-cookie')!.split('; ');
    expect(attributes).toContain('HttpOnly');
    expect(attributes).toContain('SameSite=Strict');
    expect(attributes).toContain('Path=/');
    expect(attributes).not.toContain('Secure');
  });

  test('is bound to the host and to TLS where the server has TLS', async () => {
    const secure = await startTerseHere({ env: { TERSE_BASE_URL: 'https://sho.rt' } });
    try {
      const answer = await callerOf(secure.url)('POST', sessionPath, {
        key: undefined,
        body: { key: adminKey },
      });
      expect(answer.headers.get('set-cookie')).toMatch(/^__Host-terse_session=[\w-]+; .*; Secure\b/);
    } finally {
      await secure.stop();
    }
  });

  test('authenticates its account in every route', async () => {
    const cookie = cookieOf(await signIn({ key: adminKey }));
    const made = await as(cookie, 'POST', '/api/v1/links', {
      longUrl: 'https://example.com/',
      customAlias: 'mine',
    });
    expect(made.status).toBe(201);
    expect(await as(cookie, 'GET', '/api/v1/links/mine')).toMatchObject({ status: 200 });
    const me = await as(cookie, 'GET', '/api/v1/account');
    expect(me.body).toMatchObject({ keyId: null, sessionId: expect.stringMatching(/^ses_/) });
  });

  test('changes nothing for another site, whatever the method and however it is sent', async () => {
    const cookie = cookieOf(await signIn({ key: adminKey }));
    const link = { longUrl: 'https://example.com/', customAlias: 'not-by-others' };
    await as(cookie, 'POST', '/api/v1/links', { ...link, customAlias: 'kept' });
    const foreign: Record<string, string>[] = [
      {},
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { Origin: 'http://localhost' },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'cross-site', Origin: terse.url },
      { Referer: `${terse.url}/` },
    ];
    for (const headers of foreign) {
      for (const [method, path, body] of [
        ['POST', '/api/v1/links', link],
        ['POST', '/api/v1/links/bulk', { links: [link] }],
        ['PATCH', '/api/v1/links/kept', { title: 'x' }],
        ['PUT', '/api/v1/links/kept', { longUrl: 'https://evil.example/' }],
        ['DELETE', '/api/v1/links/kept', undefined],
        ['POST', '/api/v1/keys', { name: 'x' }],
        ['DELETE', sessionPath, undefined],
      ] as const) {
        const sent = { key: undefined, headers: { ...cookie, ...headers }, ...(body && { body }) };
        expectProblem(await call(method, path, sent), 403, 'foreign_origin');
      }
    }
    expect((await call('GET', '/api/v1/links/kept')).body).toMatchObject({ title: null, status: 'active' });
    expectProblem(await call('GET', '/api/v1/links/not-by-others'), 404, 'not_found');
    const own = { key: undefined, headers: { ...cookie, Origin: terse.url }, body: { title: 'ours' } };
    expect(await call('PATCH', '/api/v1/links/kept', own)).toMatchObject({ status: 200 });
  });

  test('is not handed out to another site’s sign-in form', async () => {
    for (const headers of [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }]) {
      const answer = await signIn({ key: adminKey }, headers as Record<string, string>);
      expectProblem(answer, 403, 'foreign_origin');
      expect(answer.headers.get('set-cookie')).toBeNull();
    }
  });

  test('that is invalid is rejected and deleted, also where none is needed', async () => {
    const stale = { Cookie: 'terse_session=session_made-up' };
    for (const [method, path, body] of [
      ['GET', '/api/v1/links', undefined],
      ['POST', '/api/v1/links', { longUrl: 'https://example.com/' }],
    ] as const) {
      const answer = await as(stale, method, path, body);
      expectProblem(answer, 401, 'unauthorized');
      expect(answer.headers.get('set-cookie')).toMatch(/^terse_session=; .*Max-Age=0/);
    }
    expect(await call('GET', '/health/live', { key: undefined, headers: stale })).toMatchObject({
      status: 200,
    });
    expect(await call('GET', '/api/v1/links', { headers: stale })).toMatchObject({ status: 200 });
  });
});

describe('a session', () => {
  test('ends when the user signs out', async () => {
    const cookie = cookieOf(await signIn({ key: adminKey }));
    const out = await as(cookie, 'DELETE', sessionPath);
    expect(out.status).toBe(204);
    expect(out.headers.get('set-cookie')).toMatch(/Max-Age=0/);
    expectProblem(await as(cookie, 'GET', '/api/v1/account'), 401, 'unauthorized');
  });

  test('is listed, and can be ended from another', async () => {
    await signUp('lists@example.com');
    const [one, two] = [
      await signIn({ email: 'lists@example.com', password }),
      await signIn({ email: 'lists@example.com', password }),
    ];
    const { sessions } = (await as(cookieOf(one), 'GET', '/api/v1/sessions')).body;
    expect(
      sessions.map(({ id, isCurrent }: { id: string; isCurrent: boolean }) => [id, isCurrent]).sort(),
    ).toEqual(
      [
        [one.body.session.id, true],
        [two.body.session.id, false],
      ].sort(),
    );
    expect(await as(cookieOf(one), 'DELETE', `/api/v1/sessions/${two.body.session.id}`)).toMatchObject({
      status: 204,
    });
    expectProblem(await as(cookieOf(two), 'GET', '/api/v1/account'), 401, 'unauthorized');
    expect(await as(cookieOf(one), 'GET', '/api/v1/account')).toMatchObject({ status: 200 });
  });

  test('ends with a new password, unless it set the password itself', async () => {
    const email = 'changes@example.com';
    await signUp(email);
    const [kept, lost] = [
      cookieOf(await signIn({ email, password })),
      cookieOf(await signIn({ email, password })),
    ];
    const next = 'another password of mine';
    expectProblem(await as(kept, 'PATCH', '/api/v1/account', { password: next }), 403, 'forbidden');
    const change = { password: next, currentPassword: password };
    expect(await as(kept, 'PATCH', '/api/v1/account', change)).toMatchObject({ status: 200 });
    expectProblem(await as(lost, 'GET', '/api/v1/account'), 401, 'unauthorized');
    expect(await as(kept, 'GET', '/api/v1/account')).toMatchObject({ status: 200 });
    expectProblem(await signIn({ email, password }), 401, 'sign_in_failed');
    expect(await signIn({ email, password: next })).toMatchObject({ status: 201 });
  });

  test('ends with the key that opened it', async () => {
    const { id, key } = (await call('POST', '/api/v1/keys', { body: { name: 'opener' } })).body;
    const cookie = cookieOf(await signIn({ key }));
    expect(await as(cookie, 'GET', '/api/v1/account')).toMatchObject({ status: 200 });
    await call('DELETE', `/api/v1/keys/${id}`);
    expectProblem(await as(cookie, 'GET', '/api/v1/account'), 401, 'unauthorized');
  });

  test('that is ended in one process is rejected by the next request in another', async () => {
    const dataFolder = temporaryFolder();
    const processes = await Promise.all([0, 1].map(() => startTerseProcess({ dataFolder })));
    try {
      const [here, there] = processes.map(({ url }) => callerOf(url));
      const opened = await here!('POST', sessionPath, { key: undefined, body: { key: adminKey } });
      const asked = { key: undefined, headers: { ...cookieOf(opened), ...ours } };
      expect(await there!('GET', '/api/v1/account', asked)).toMatchObject({ status: 200 });
      expect(await here!('DELETE', sessionPath, asked)).toMatchObject({ status: 204 });
      expectProblem(await there!('GET', '/api/v1/account', asked), 401, 'unauthorized');
    } finally {
      await Promise.all(processes.map(each => each.stop()));
      rmSync(dataFolder, { recursive: true, force: true });
    }
  });
});

describe('signing in', () => {
  test.each([
    [{ email: 'nobody@example.com', password }],
    [{ email: '', password: '' }],
    [{ email: ['root@example.com'], password: [password] }],
    [{ email: { $ne: null }, password: { $ne: null } }],
    [{ email: null, password: true }],
    [{ email: 1, password: 2 }],
    [{ email: 'root@example.com', password: 'x'.repeat(100_000) }],
  ])('with %j fails like any other attempt', async body => {
    const answer = await signIn(body);
    expectProblem(answer, 401, 'sign_in_failed');
    expect(answer.body.detail).toBe('The e-mail address or the password is wrong.');
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  test.each([[{ key: [adminKey] }], [{ key: { $gt: '' } }], [{ key: null }], [{ key: `${adminKey} ` }]])(
    'with %j is rejected as a key',
    async body => expectProblem(await signIn(body), 401, 'unauthorized'),
  );

  test.each([[{}], [{ email: 'a@b.example' }], [{ email: 'a@b.example', password, key: adminKey }], [[]]])(
    'with %j is rejected with a message that says what is needed',
    async body => expectProblem(await signIn(body), 400, 'invalid_request'),
  );

  test('is limited by address', async () => {
    const strict = await startTerseHere({ env: { TERSE_LIMITS: 'signIn=3/min' } });
    try {
      const attempt = () =>
        callerOf(strict.url)('POST', sessionPath, {
          key: undefined,
          body: { email: 'a@b.example', password },
        });
      let refused = await attempt();
      expectProblem(refused, 401, 'sign_in_failed');
      // A process that starts on a busy machine may count on its own at first, so it may take a few more than three.
      for (let more = 0; more < 10 && refused.status !== 429; more += 1) refused = await attempt();
      expectProblem(refused, 429, 'rate_limited');
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    } finally {
      await strict.stop();
    }
  });
});

describe('a known device', () => {
  const name = 'terse_device';
  const deviceOf = ({ headers }: Answer): string | undefined =>
    headers
      .getSetCookie()
      .map(cookie => cookie.split(';')[0]!)
      .find(cookie => cookie.startsWith(`${name}=`));
  /** Guesses passwords until unknown devices at this address are limited. */
  const guessUntilLimited = async (email: string): Promise<Answer> => {
    for (let guesses = 0; guesses < 40; guesses += 1) {
      const answer = await signIn({ email, password: 'a wrong password' });
      if (answer.status === 429) return answer;
      expectProblem(answer, 401, 'sign_in_failed');
    }
    throw new Error('guessing is not limited');
  };

  test('signs in while unknown devices may not, until the password changes', async () => {
    const email = 'attacked@example.com';
    await signUp(email);
    const first = await signIn({ email, password });
    const device = deviceOf(first)!;
    const attributes = first.headers.getSetCookie().find(cookie => cookie.startsWith(name))!;
    expect(attributes).toMatch(/; HttpOnly; SameSite=Strict; Max-Age=31536000$/);
    // With the limit by address switched off, the one by account is still there.
    const limited = await guessUntilLimited(email);
    expectProblem(limited, 429, 'rate_limited');
    expect(limited.body.detail).toContain(
      'Browsers that have signed in to it before and API keys still work.',
    );
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    expectProblem(await signIn({ email, password }), 429, 'rate_limited');

    const known = await signIn({ email, password }, { Cookie: device });
    expect(known.status).toBe(201);
    expectProblem(
      await signIn({ email, password: 'wrong again' }, { Cookie: device }),
      401,
      'sign_in_failed',
    );
    const next = 'another password of mine';
    const change = { password: next, currentPassword: password };
    const changed = await as(cookieOf(known), 'PATCH', '/api/v1/account', change);
    expect(changed.status).toBe(200);
    expectProblem(await signIn({ email, password: next }, { Cookie: device }), 429, 'rate_limited');
    // The browser that set it stays known.
    expect(await signIn({ email, password: next }, { Cookie: deviceOf(changed)! })).toMatchObject({
      status: 201,
    });
  });

  test('is not created by a failed attempt, by a change without a session, or for an account without a password', async () => {
    const email = 'unknown-devices@example.com';
    await signUp(email);
    expect(deviceOf(await signIn({ email, password: 'a wrong password' }))).toBeUndefined();
    const id = (await call('POST', '/api/v1/accounts', { body: { name: 'no password' } })).body.id;
    const { key } = (await call('POST', '/api/v1/keys', { body: { name: 'k', accountId: id } })).body;
    expect(deviceOf(await signIn({ key }))).toBeUndefined();
    const byKey = await call('PATCH', '/api/v1/account', { key, body: { password } });
    expect(byKey.status).toBe(200);
    expect(byKey.headers.getSetCookie()).toEqual([]);
    expect(deviceOf(await signIn({ key }))).toBeDefined();
  });
});

test('a start warns of the limits that are switched off, by their names', () => {
  const warned = terse
    .logged()
    .split('\n')
    .filter(line => line.includes('rate limits are switched off'))
    .map(line => JSON.parse(line));
  expect(warned).toMatchObject([{ level: 'warn', limits: 'signIn signUp' }]);
});

describe('a password reset', () => {
  const issue = async (id: string) => (await call('POST', `/api/v1/accounts/${id}/password-reset`)).body;
  const invited = (path: 'read' | 'accept', body: unknown, at = call) =>
    at('POST', `/api/v1/invitations/${path}`, { key: undefined, body });

  test('is created by an admin, read, used once, and in the audit log without its token', async () => {
    const email = 'forgetful@example.com';
    await signUp(email);
    const { id } = (await call('GET', `/api/v1/accounts?email=${email}`)).body.accounts[0];
    const open = await signIn({ email, password });
    const { token, url } = await issue(id);
    expect(url).toEndWith(`/dashboard/invitation#${token}`);
    const { name: from } = (await call('GET', '/api/v1/account')).body;
    expect((await invited('read', { token })).body).toMatchObject({ purpose: 'passwordReset', from, email });
    expect(await as(cookieOf(open), 'GET', '/api/v1/account')).toMatchObject({ status: 200 });
    const next = 'a new password of mine';
    expect(await invited('accept', { token, password: next })).toMatchObject({ status: 200 });
    expect((await as(cookieOf(open), 'GET', '/api/v1/account')).status).toBe(401);
    expectProblem(await invited('accept', { token, password }), 410, 'invitation_invalid');
    expectProblem(await invited('read', { token }), 410, 'invitation_invalid');
    expect(await signIn({ email, password: next })).toMatchObject({ status: 201 });
    const { body } = await call('GET', `/api/v1/audit?subjectKind=account&subjectId=${id}`);
    const actions = body.entries.map(({ action }: { action: string }) => action);
    expect(actions).toContain('account.passwordResetIssued');
    expect(actions).toContain('account.passwordReset');
    expect(body.accountNames).toMatchObject({ [id]: 'Somebody' });
    expect(JSON.stringify(body)).not.toContain(token);
  });

  test('cannot be guessed: invalid tokens are limited by address, whatever the request', async () => {
    const strict = await startTerseHere({ env: { TERSE_LIMITS: 'signIn=4/min' } });
    try {
      const at = callerOf(strict.url);
      const answers = [];
      for (let guess = 0; guess < 6; guess += 1) {
        const token = `reset_${guess}`;
        answers.push(
          guess % 2 === 0
            ? await invited('read', { token }, at)
            : await invited('accept', { token, password }, at),
        );
      }
      expect(answers.slice(0, 4).map(({ status }) => status)).toEqual([410, 410, 410, 410]);
      expectProblem(answers[5]!, 429, 'rate_limited');
      expect(answers[5]!.body).toMatchObject({ limit: 'signIn' });
      expect(answers[5]!.body.detail).toStartWith(
        'Too many attempts to sign in from this network: 4 a minute',
      );
    } finally {
      await strict.stop();
    }
  });
});

describe('signing up', () => {
  test('is limited by address', async () => {
    const strict = await startTerseHere({ env: { TERSE_LIMITS: 'signUp=1/h', TERSE_SIGNUP: 'on' } });
    try {
      const attempt = (email: string) =>
        callerOf(strict.url)('POST', '/api/v1/sign-up', {
          key: undefined,
          body: { name: 'x', email, password },
        });
      let refused = await attempt('first@example.com');
      expect(refused.status).toBe(204);
      for (let more = 0; more < 5 && refused.status !== 429; more += 1) {
        refused = await attempt(`more${more}@example.com`);
      }
      expectProblem(refused, 429, 'rate_limited');
    } finally {
      await strict.stop();
    }
  });

  test('is closed unless the server opens it', async () => {
    const closed = await startTerseHere();
    try {
      const body = { name: 'x', email: 'x@example.com', password };
      expectProblem(
        await callerOf(closed.url)('POST', '/api/v1/sign-up', { key: undefined, body }),
        403,
        'forbidden',
      );
    } finally {
      await closed.stop();
    }
  });

  test('answers the same for an address that is taken, and changes nothing', async () => {
    const email = 'taken@example.com';
    await signUp(email);
    const again = { name: 'Impostor', email: email.toUpperCase(), password: 'of the impostor' };
    const [taken, free] = [
      await call('POST', '/api/v1/sign-up', { key: undefined, body: again }),
      await call('POST', '/api/v1/sign-up', {
        key: undefined,
        body: { ...again, email: 'free@example.com' },
      }),
    ];
    const seen = ({ status, headers, body }: Answer) => [
      status,
      body,
      [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id'),
    ];
    expect(seen(taken)).toEqual(seen(free));
    expectProblem(await signIn({ email, password: again.password }), 401, 'sign_in_failed');
    expect(await signIn({ email, password })).toMatchObject({
      status: 201,
      body: { account: { name: 'Somebody' } },
    });
  });

  test.each([['short'], ['x'.repeat(129)], ['eleven char'], ['with a \0 in it']])(
    'rejects a password like %j',
    async bad => {
      const body = { name: 'x', email: 'y@example.com', password: bad };
      const answer = await call('POST', '/api/v1/sign-up', { key: undefined, body });
      expectProblem(answer, 400, 'invalid_request');
      expect(JSON.stringify(answer.body)).not.toContain(JSON.stringify(bad));
    },
  );
});

test('passwords, tokens and cookies are in no log and in no file', async () => {
  const email = 'secrets@example.com';
  const secret = 'a very secret password';
  const { id } = (await call('POST', '/api/v1/accounts', { body: { name: 'x', email } })).body;
  const { token: invitation } = (await call('POST', `/api/v1/accounts/${id}/invitation`)).body;
  await call('POST', '/api/v1/invitations/accept', {
    key: undefined,
    body: { token: invitation, password: secret },
  });
  const opened = await signIn({ email, password: secret });
  await signIn({ email, password: `${secret}?` });
  const token = cookieOf(opened).Cookie.split('=')[1]!;
  await as(cookieOf(opened), 'PATCH', '/api/v1/account', { password: `${secret}!`, currentPassword: secret });
  const onDisk = readdirSync(terse.dataFolder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => readFileSync(join(entry.parentPath, entry.name)));
  const files = Buffer.concat(onDisk);
  expect(files.includes(email)).toBe(true);
  expect(files.includes('$argon2id$')).toBe(true);
  for (const hidden of [secret, token, invitation]) {
    expect(files.includes(hidden)).toBe(false);
    expect(terse.logged()).not.toContain(hidden);
    expect(JSON.stringify(opened.body)).not.toContain(hidden);
  }
});
