/** API keys: who gets the first one, what a key permits, and that it is shown once and never again. */
import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../kit/engines/postgres.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { sendRaw } from '../kit/raw-http.ts';
import { forgetThatKeysWereSeen, storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import {
  adminKey,
  firstKeyIn,
  startTerseProcess,
  type TerseProcess,
  temporaryFolder,
} from '../kit/terse-process.ts';

setDefaultTimeout(60_000);

const keysPath = '/api/v1/keys';
const generatedKey = /terse_[0-9A-Za-z_-]{43}/;
const withoutAdminKey = { TERSE_ADMIN_KEY: undefined };

const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);
const createKey = async (name: string) => (await call('POST', keysPath, { body: { name } })).body;

/** Machines that share a store, each with a data folder of its own. */
describeWithEngine('postgres', 'the first key of several machines', () => {
  const started: TerseProcess[] = [];
  const start = async (links: string, roles: string, key?: string): Promise<TerseProcess> => {
    const env = { TERSE_LINKS: links, TERSE_ROLES: roles, TERSE_ADMIN_KEY: key };
    started.push(await startTerseProcess({ env }));
    return started.at(-1)!;
  };
  const keysAt = async ({ url }: TerseProcess, key: string) =>
    (await callerOf(url)('GET', keysPath, { key })).body.keys as { name: string }[];
  const announced = (machines: readonly TerseProcess[]): TerseProcess[] =>
    machines.filter(({ banner, dataFolder }) => banner.includes(join(dataFolder, 'admin-key')));
  afterEach(async () => {
    await Promise.all(started.splice(0).map(each => each.stop()));
  });

  test('is created by exactly one of those with the API, however many start at once, and by no other', async () => {
    const links = await (await sharedPostgres()).freshDatabase();
    const first = [await start(links, 'redirect'), await start(links, 'worker')];
    const beside = ['redirect,worker', 'worker', 'redirect'].map(roles => start(links, roles));
    const withApi = await Promise.all(['api', 'api', 'api,worker', 'all'].map(roles => start(links, roles)));
    const without = [...first, ...(await Promise.all(beside))];
    const [maker, ...others] = announced(withApi);
    expect([others.length, announced(without).length]).toEqual([0, 0]);
    const keys = [...withApi, ...without].map(({ dataFolder }) => firstKeyIn(dataFolder));
    expect(keys.filter(key => key !== undefined)).toHaveLength(1);
    const key = firstKeyIn(maker!.dataFolder)!;
    for (const machine of withApi)
      expect(await keysAt(machine, key)).toMatchObject([{ name: 'admin', revokedAt: null }]);
  });

  test('is the one that the operator gave, also to machines without the API that start first', async () => {
    const links = await (await sharedPostgres()).freshDatabase();
    const other = 'another-key-of-the-operator';
    const first = [await start(links, 'redirect', adminKey), await start(links, 'worker', other)];
    const withApi = await Promise.all(['api', 'api'].map(roles => start(links, roles, adminKey)));
    first.push(await start(links, 'redirect', other));
    expect(announced([...first, ...withApi])).toEqual([]);
    for (const machine of withApi)
      expect(await keysAt(machine, adminKey)).toMatchObject([{ name: 'admin', revokedAt: null }]);
  });
});

describe('the first key', () => {
  test('of eight processes that start at once on an empty folder, exactly one makes and announces it', async () => {
    const dataFolder = temporaryFolder();
    const processes = await Promise.all(
      Array.from({ length: 8 }, () => startTerseProcess({ dataFolder, env: withoutAdminKey })),
    );
    try {
      const key = firstKeyIn(dataFolder);
      expect(key).toMatch(generatedKey);
      const path = join(dataFolder, 'admin-key');
      expect(processes.filter(({ banner }) => banner.includes(path))).toHaveLength(1);
      const rows = storedRows(dataFolder);
      expect(rows.accounts).toHaveLength(1);
      expect(rows.keys).toHaveLength(1);
      for (const { url } of processes) {
        const answer = await callerOf(url)('GET', keysPath, { key });
        expect(answer).toMatchObject({ status: 200, body: { keys: [{ name: 'admin', revokedAt: null }] } });
      }
    } finally {
      await Promise.all(processes.map(each => each.stop()));
      rmSync(dataFolder, { recursive: true, force: true });
    }
  });

  test('is announced at the first start only, and keeps working', async () => {
    const dataFolder = temporaryFolder();
    try {
      const first = await startTerseProcess({ dataFolder, env: withoutAdminKey });
      const key = firstKeyIn(dataFolder);
      expect(key).toBeDefined();
      expect(first.banner).toContain('admin-key');
      expect(await first.stop()).toBe(0);
      const second = await startTerseProcess({ dataFolder, env: withoutAdminKey });
      try {
        expect(second.banner).toContain('ready at');
        expect(second.banner).not.toContain('admin-key');
        expect(firstKeyIn(dataFolder)).toBe(key);
        expect(await callerOf(second.url)('GET', '/api/v1/links', { key })).toMatchObject({ status: 200 });
      } finally {
        await second.stop();
      }
    } finally {
      rmSync(dataFolder, { recursive: true, force: true });
    }
  });

  test('is not lost by a start that finds its port in use', async () => {
    const dataFolder = temporaryFolder();
    const busyPort = new URL(terse.url).port;
    try {
      const env = { ...withoutAdminKey, PORT: busyPort };
      await expect(startTerseProcess({ dataFolder, env })).rejects.toThrow('did not start');
      const next = await startTerseProcess({ dataFolder, env: withoutAdminKey });
      try {
        const key = firstKeyIn(dataFolder);
        expect(await callerOf(next.url)('GET', keysPath, { key })).toMatchObject({ status: 200 });
      } finally {
        await next.stop();
      }
    } finally {
      rmSync(dataFolder, { recursive: true, force: true });
    }
  });

  test('is replaced when the start that created it ended before it was shown', async () => {
    const dataFolder = temporaryFolder();
    try {
      const first = await startTerseProcess({ dataFolder, env: withoutAdminKey });
      const lost = firstKeyIn(dataFolder);
      await first.stop();
      forgetThatKeysWereSeen(dataFolder);
      const next = await startTerseProcess({ dataFolder, env: withoutAdminKey });
      try {
        const call = callerOf(next.url);
        const key = firstKeyIn(dataFolder);
        expect(await call('GET', keysPath, { key })).toMatchObject({ status: 200 });
        expectProblem(await call('GET', keysPath, { key: lost }), 401, 'unauthorized');
      } finally {
        await next.stop();
      }
    } finally {
      rmSync(dataFolder, { recursive: true, force: true });
    }
  });

  test('that the operator gave stops working when another is given, and works again when given again', async () => {
    const dataFolder = temporaryFolder();
    const [one, two] = ['operators-key-number-one', 'operators-key-number-two'];
    try {
      for (const [given, other] of [
        [one, two],
        [two, one],
        [one, two],
      ] as const) {
        const started = await startTerseProcess({ dataFolder, env: { TERSE_ADMIN_KEY: given } });
        try {
          const call = callerOf(started.url);
          expect(await call('GET', keysPath, { key: given })).toMatchObject({ status: 200 });
          expectProblem(await call('GET', keysPath, { key: other }), 401, 'unauthorized');
        } finally {
          await started.stop();
        }
      }
    } finally {
      rmSync(dataFolder, { recursive: true, force: true });
    }
  });

  test('can be given by the operator and is then not printed', async () => {
    const given = await startTerseProcess();
    try {
      expect(given.banner).not.toContain(adminKey);
      expect(given.banner).not.toContain('admin-key');
      expect(firstKeyIn(given.dataFolder)).toBeUndefined();
      expect(await callerOf(given.url)('GET', '/api/v1/links')).toMatchObject({ status: 200 });
    } finally {
      await given.stop();
    }
  });
});

describe('a key', () => {
  test('is shown when it is created, listed without its secret, and works in either header', async () => {
    const answer = await call('POST', keysPath, { body: { name: 'for the script' } });
    expect(answer.status).toBe(201);
    const { key, ...shown } = answer.body;
    expect(key).toMatch(generatedKey);
    expect(shown).toEqual({
      id: shown.id,
      accountId: shown.accountId,
      name: 'for the script',
      scopes: ['links:read', 'links:write', 'stats:read', 'moderate', 'admin'],
      createdAt: shown.createdAt,
      lastUsedAt: null,
      expiresAt: null,
      previousUntil: null,
      revokedAt: null,
    });
    const listed = await call('GET', keysPath);
    expect(listed.body.keys).toContainEqual(shown);
    expect(JSON.stringify(listed.body)).not.toContain(key);
    expect(await call('GET', '/api/v1/links', { key })).toMatchObject({ status: 200 });
    const byHeader = await call('GET', '/api/v1/links', { key: undefined, headers: { 'X-Api-Key': key } });
    expect(byHeader).toMatchObject({ status: 200 });
    // Recorded after the request, so it may take a moment to appear.
    let lastUsedAt: string | null = null;
    while (lastUsedAt === null) {
      const { keys } = (await call('GET', keysPath)).body;
      lastUsedAt = keys.find((each: { id: string }) => each.id === shown.id).lastUsedAt;
    }
    expect(Date.parse(lastUsedAt)).toBeGreaterThanOrEqual(Date.parse(shown.createdAt));
  });

  test('that is revoked permits nothing from then on, and may revoke itself', async () => {
    const { id, key } = await createKey('short-lived');
    expect(await call('DELETE', `${keysPath}/${id}`, { key })).toMatchObject({ status: 204 });
    for (const [method, path, body] of [
      ['GET', '/api/v1/links', undefined],
      ['GET', keysPath, undefined],
      ['POST', '/api/v1/links', { longUrl: 'https://example.com/' }],
    ] as const) {
      expectProblem(await call(method, path, { key, ...(body && { body }) }), 401, 'unauthorized');
    }
    const listed = (await call('GET', keysPath)).body.keys.find((each: { id: string }) => each.id === id);
    expect(listed.revokedAt).not.toBeNull();
    expectProblem(await call('DELETE', `${keysPath}/${id}`), 404, 'not_found');
    expectProblem(await call('DELETE', `${keysPath}/key_unknown`), 404, 'not_found');
  });

  test('that is rotated or revoked in one process is rejected by the next request in another', async () => {
    const dataFolder = temporaryFolder();
    const processes = await Promise.all([0, 1].map(() => startTerseProcess({ dataFolder })));
    const [here, there] = processes.map(({ url }) => callerOf(url));
    try {
      for (let round = 0; round < 20; round += 1) {
        const { id, key } = (await here!('POST', keysPath, { body: { name: `round ${round}` } })).body;
        expect(await there!('GET', '/api/v1/links', { key })).toMatchObject({ status: 200 });
        const rotated = await here!('POST', `${keysPath}/${id}/rotate`, { body: {} });
        expectProblem(await there!('GET', '/api/v1/links', { key }), 401, 'unauthorized');
        expect(await there!('GET', '/api/v1/links', { key: rotated.body.key })).toMatchObject({
          status: 200,
        });
        await here!('DELETE', `${keysPath}/${id}`);
        expectProblem(await there!('GET', '/api/v1/links', { key: rotated.body.key }), 401, 'unauthorized');
      }
    } finally {
      await Promise.all(processes.map(each => each.stop()));
      rmSync(dataFolder, { recursive: true, force: true });
    }
  });

  test('does what its scopes say and nothing else', async () => {
    const { key, scopes } = (
      await call('POST', keysPath, { body: { name: 'reader', scopes: ['stats:read', 'links:read'] } })
    ).body;
    expect(scopes).toEqual(['links:read', 'stats:read']);
    const { body: me } = await call('GET', '/api/v1/account', { key });
    expect(me).toMatchObject({ role: 'admin', scopes });
    expect(await call('GET', '/api/v1/links', { key })).toMatchObject({ status: 200 });
    const link = { longUrl: 'https://example.com/' };
    expectProblem(await call('POST', '/api/v1/links', { key, body: link }), 403, 'forbidden');
    expectProblem(await call('GET', '/api/v1/reconcile', { key }), 403, 'forbidden');
    expectProblem(await call('POST', keysPath, { key, body: { name: 'x' } }), 403, 'forbidden');
  });

  test('can be given another secret, while the old one works for a chosen time', async () => {
    const { id, key } = await createKey('rotated');
    const rotate = async (secret: string, body: unknown) => {
      const answer = await call('POST', `${keysPath}/${id}/rotate`, { key: secret, body });
      expect(answer).toMatchObject({ status: 200, body: { id, name: 'rotated' } });
      return answer.body;
    };
    const works = async (secret: string) => (await call('GET', keysPath, { key: secret })).status === 200;
    const second = await rotate(key, { overlapSeconds: 3_600 });
    expect(Date.parse(second.previousUntil)).toBeGreaterThan(Date.now());
    expect([await works(key), await works(second.key)]).toEqual([true, true]);
    const third = await rotate(second.key, {});
    expect([await works(key), await works(second.key), await works(third.key)]).toEqual([false, false, true]);
  });

  test('with a time of expiry says so, and must not have expired already', async () => {
    const create = (expiresAt: string) => call('POST', keysPath, { body: { name: 'x', expiresAt } });
    expect((await create('2100-01-01T00:00:00Z')).body.expiresAt).toBe('2100-01-01T00:00:00.000Z');
    expectProblem(await create('2020-01-01T00:00:00Z'), 400, 'invalid_expiry');
  });

  test('is one of at most a hundred', async () => {
    const made: string[] = [];
    for (;;) {
      const answer = await call('POST', keysPath, { body: { name: 'one more' } });
      if (answer.status !== 201) {
        expectProblem(answer, 409, 'keys_full');
        break;
      }
      made.push(answer.body.id);
    }
    const first = (await call('GET', keysPath)).body;
    expect(first.keys).toHaveLength(100);
    const second = (await call('GET', `${keysPath}?limit=100&cursor=${first.nextCursor}`)).body;
    expect(second.nextCursor).toBeNull();
    const keys = [...first.keys, ...second.keys];
    expect(new Set(keys.map(({ id }) => id)).size).toBe(keys.length);
    expect(keys.filter((each: { revokedAt: unknown }) => each.revokedAt === null)).toHaveLength(100);
    await Promise.all(made.map(id => call('DELETE', `${keysPath}/${id}`)));
    expect(await createKey('room again')).toHaveProperty('key');
  });

  test('is kept nowhere: not in the log, not on disk, not in another answer', async () => {
    const { id, key } = await createKey('secret');
    const link = { longUrl: 'https://example.com/', customAlias: 'with-secret' };
    const answers = [
      await call('POST', '/api/v1/links', { key, body: link }),
      await call('POST', '/api/v1/links', { key, body: link }),
      await call('POST', '/api/v1/links', { key, body: '{' }),
      await call('GET', '/api/v1/links/with-secret', { key }),
      await call('GET', '/api/v1/links', { key }),
      await call('GET', keysPath, { key }),
      await call('GET', '/metrics', { key }),
      await call('GET', '/no-such-link', { key }),
      await call('GET', '/api/v1/links', { key: `${key}x` }),
      await call('DELETE', `${keysPath}/${id}`, { key }),
      await call('GET', '/api/v1/links', { key }),
    ];
    for (const { body, headers } of answers) {
      expect(JSON.stringify([body, [...headers]])).not.toContain(key);
    }
    const onDisk = readdirSync(terse.dataFolder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => readFileSync(join(entry.parentPath, entry.name)));
    expect(Buffer.concat(onDisk).includes('with-secret')).toBe(true);
    expect(terse.logged()).toContain('"route":"createLink"');
    for (const secret of [key, adminKey]) {
      expect(terse.logged()).not.toContain(secret);
      expect(Buffer.concat(onDisk).includes(secret)).toBe(false);
    }
  });
});

describe('a credential sent in an odd way is rejected', () => {
  const key = adminKey;
  const odd = [
    ['nothing', ''],
    ['an empty Authorization', 'Authorization:\r\n'],
    ['an empty X-Api-Key', 'X-Api-Key:\r\n'],
    ['a scheme without a key', 'Authorization: Bearer\r\n'],
    ['Basic', `Authorization: Basic ${btoa(`admin:${key}`)}\r\n`],
    ['another scheme', `Authorization: Token ${key}\r\n`],
    ['two keys in one header', `Authorization: Bearer ${key} ${key}\r\n`],
    ['the header twice', `Authorization: Bearer ${key}\r\nAuthorization: Bearer ${key}\r\n`],
    ['the other header twice', `X-Api-Key: ${key}\r\nX-Api-Key: ${key}\r\n`],
    ['two headers that differ', `Authorization: Bearer ${key}\r\nX-Api-Key: other\r\n`],
    ['a good header beside an odd one', `Authorization: Basic ${key}\r\nX-Api-Key: ${key}\r\n`],
    ['something like a list', `Authorization: Bearer ["${key}"]\r\n`],
    ['something like a list in the other header', `X-Api-Key: ${key},${key}\r\n`],
    ['in quotes', `Authorization: Bearer "${key}"\r\n`],
    ['with more behind it', `Authorization: Bearer ${key}x\r\n`],
    ['only its beginning', `Authorization: Bearer ${key.slice(0, -1)}\r\n`],
    ['in other case', `Authorization: Bearer ${key.toUpperCase()}\r\n`],
    ['10 KB', `Authorization: Bearer ${'k'.repeat(10_240)}\r\n`],
    ['10 KB in the other header', `X-Api-Key: ${'k'.repeat(10_240)}\r\n`],
    ['not ASCII', 'Authorization: Bearer k\xc3\xa9y\xff\r\n'],
    ['as a cookie', `Cookie: key=${key}\r\n`],
  ] as const;

  test.each(odd)('%s', async (_what, headers) => {
    const [answer] = await sendRaw(
      terse.url,
      `GET ${keysPath} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`,
    );
    expect(answer!.status).toBe(401);
    expect(JSON.parse(answer!.body)).toMatchObject({ status: 401, code: 'unauthorized' });
    expect(answer!.body).not.toContain(key);
  });

  test('and so is a key in the query', async () => {
    for (const name of ['key', 'api_key', 'access_token']) {
      const answer = await call('GET', `${keysPath}?${name}=${key}`, { key: undefined });
      expectProblem(answer, 401, 'unauthorized');
    }
  });

  test('but not the same key in both headers', async () => {
    expect(await call('GET', keysPath, { headers: { 'X-Api-Key': key } })).toMatchObject({ status: 200 });
  });
});
