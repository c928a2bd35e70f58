/**
 * The main story of Terse, run on every engine that it supports: two processes that know each other only through the
 * store, as if they ran on two machines. Each sees the changes of the other.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Answer, type Call, type CallOptions, callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedDynamo } from '../kit/engines/dynamodb.ts';
import { sharedPostgres } from '../kit/engines/postgres.ts';
import { sharedRedis } from '../kit/engines/redis.ts';
import { sharedRedisCluster } from '../kit/engines/redis-cluster.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { accountOn } from '../kit/planned-account.ts';
import { firstKeyIn, startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(60_000);

const tellsOfKey = ({ banner, dataFolder }: TerseProcess): boolean =>
  banner.includes(join(dataFolder, 'admin-key'));
const page = 'https://example.com/page';
const reason = 'It imitates a bank.';

type Settings = Readonly<Record<string, string>>;

const onPostgres = async (): Promise<Settings> => ({
  TERSE_LINKS: await (await sharedPostgres()).freshDatabase(),
});
const onDynamo = async (): Promise<Settings> => ({
  TERSE_LINKS: await (await sharedDynamo()).freshTableUrl(),
});
const withRedis = async (): Promise<Settings> => ({ TERSE_CACHE: (await sharedRedis()).url });
const withRedisCluster = async (): Promise<Settings> => ({ TERSE_CACHE: (await sharedRedisCluster()).url });

describe('on the embedded store', () => {
  const dataFolder = temporaryFolder();
  afterAll(() => rmSync(dataFolder, { recursive: true, force: true }));
  runStory(async () => ({}), dataFolder);
});
describeWithEngine('postgres', 'on Postgres', () => runStory(onPostgres));
describeWithEngine('dynamodb', 'on DynamoDB', () => runStory(onDynamo));
describeWithEngine('redis', 'with Redis', () => {
  describeWithEngine('postgres', 'before Postgres', () => runStory(both(onPostgres, withRedis)));
  describeWithEngine('dynamodb', 'before DynamoDB', () => runStory(both(onDynamo, withRedis)));
});
describeWithEngine('redis-cluster', 'with Redis Cluster', () => {
  describeWithEngine('postgres', 'before Postgres', () => runStory(both(onPostgres, withRedisCluster)));
});

function both(one: () => Promise<Settings>, other: () => Promise<Settings>): () => Promise<Settings> {
  return async () => ({ ...(await one()), ...(await other()) });
}

/** Each process has a data folder of its own, as on a machine of its own, unless they share this one. */
function runStory(engineSettings: () => Promise<Settings>, dataFolder?: string): void {
  /** Redis may be shared with other stories, and an alias is the same code for all of them. */
  const alias = `wanted-${crypto.randomUUID()}`;
  let settings: Settings;
  let processes: [TerseProcess, TerseProcess];
  let adminKey: string;
  let here: Call;
  let there: Call;

  const started: TerseProcess[] = [];
  const start = async (): Promise<TerseProcess> => {
    const terse = await startTerseProcess({
      ...(dataFolder !== undefined && { dataFolder }),
      env: { TERSE_LIMITS: 'default', ...settings, TERSE_ADMIN_KEY: undefined },
    });
    started.push(terse);
    return terse;
  };
  /** Retries a 503 as a client would: an engine on a busy machine may miss Terse's deadline. */
  const getWithRetry = async (call: Call, path: string): Promise<Answer> => {
    let answer: Answer | undefined;
    const isAnswered = async (): Promise<boolean> => {
      answer = await call('GET', path);
      return answer.status !== 503;
    };
    await until(`an answer to ${path}`, isAnswered, { everyMs: 500 });
    return answer!;
  };
  /** Calls as the admin whose key was printed. */
  const asAdmin =
    ({ url }: TerseProcess): Call =>
    (method, path, options: CallOptions = {}) =>
      callerOf(url)(method, path, { key: adminKey, ...options });

  beforeAll(async () => {
    settings = await engineSettings();
    processes = await Promise.all([start(), start()]);
    adminKey = processes.flatMap(({ dataFolder }) => firstKeyIn(dataFolder) ?? [])[0] ?? 'none';
    [here, there] = [asAdmin(processes[0]), asAdmin(processes[1])];
  });
  afterAll(async () => {
    await Promise.all(started.map(terse => terse.stop()));
  });

  const create = (call: Call, body: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
    call('POST', '/api/v1/links', { body: { longUrl: page, ...body }, headers });
  const codeOf = async (call: Call, body?: object): Promise<string> => {
    const created = await create(call, body);
    expect(created.status).toBe(201);
    return created.body.shortCode;
  };
  /** Where a visitor is sent, or why not. */
  const visit = async (call: Call, code: string): Promise<string> => {
    const { status, headers } = await call('GET', `/${code}`, { key: undefined });
    return status === 302 ? headers.get('location')! : String(status);
  };
  const leadsTo = (place: string, code: string): Promise<void> =>
    until(`/${code} leads to ${place} everywhere`, async () => {
      return (await visit(here, code)) === place && (await visit(there, code)) === place;
    });
  /** The same request many times at once, at both processes in turn. */
  const atOnce = (count: number, request: (call: Call) => Promise<Answer>): Promise<Answer[]> =>
    Promise.all(Array.from({ length: count }, (_, n) => request(n % 2 === 0 ? here : there)));
  const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status).sort();

  test('of two processes that start at once one creates the first key, which works in both', async () => {
    expect(processes.filter(tellsOfKey)).toHaveLength(1);
    for (const call of [here, there]) {
      expect((await call('GET', '/api/v1/account')).body).toMatchObject({ role: 'admin', plan: 'unlimited' });
    }
  });

  test('a link is created in one process and followed in the other, edited, disabled and deleted', async () => {
    const created = await create(here, { title: 'A page', tags: ['story'] });
    expect(created).toMatchObject({ status: 201, body: { longUrl: page, status: 'active' } });
    const code = created.body.shortCode;
    await leadsTo(page, code);
    const path = `/api/v1/links/${code}`;
    const { createdAt } = created.body;
    expect((await there('GET', path)).body).toMatchObject({ title: 'A page', tags: ['story'], createdAt });
    const moved = 'https://example.org/moved';
    expect((await there('PATCH', path, { body: { longUrl: moved } })).status).toBe(200);
    await leadsTo(moved, code);
    await here('PATCH', path, { body: { status: 'disabled' } });
    await leadsTo('410', code);
    await there('PATCH', path, { body: { status: 'active' } });
    await leadsTo(moved, code);
    expect((await here('DELETE', path)).status).toBe(204);
    await leadsTo('410', code);
    expectProblem(await create(there, { customAlias: code }), 409, 'alias_taken');
    expect(await visit(there, 'neverMade')).toBe('404');
  });

  test('an alias is given once, however many request it at once', async () => {
    let asked = 0;
    const contested = await atOnce(8, call =>
      create(call, { customAlias: `${alias}-2`, longUrl: `${page}?${asked++}` }),
    );
    expect(statuses(contested)).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
    // A request for the same link gets it.
    const answers = await atOnce(8, call => create(call, { customAlias: alias }));
    expect(statuses(answers)).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    await leadsTo(page, alias);
  });

  test('a repeated request, and one that finds an existing link, create no second link', async () => {
    const repeated = await atOnce(8, call => create(call, {}, { 'Idempotency-Key': 'once' }));
    expect(statuses(repeated)).toEqual(repeated.map(() => 201));
    expect(new Set(repeated.map(({ body }) => body.shortCode)).size).toBe(1);
    const longUrl = 'https://example.com/found';
    const found = await atOnce(8, call => create(call, { longUrl, findExisting: true }));
    expect(statuses(found)).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    expect(new Set(found.map(({ body }) => body.shortCode)).size).toBe(1);
  });

  test('a thousand links are created in one call and listed page by page, each once', async () => {
    const links = Array.from({ length: 1_000 }, (_, n) => ({ longUrl: `${page}/${n}`, tags: ['many'] }));
    const bulk = await here('POST', '/api/v1/links/bulk', { body: { links } });
    const made: { status: number; link: { shortCode: string; longUrl: string } }[] = bulk.body.results;
    expect(made.filter(({ status }) => status === 201)).toHaveLength(1_000);
    const listed: string[] = [];
    let cursor = '';
    do {
      const { body } = await getWithRetry(there, `/api/v1/links?tag=many&limit=100${cursor}`);
      listed.push(...body.links.map(({ shortCode }: { shortCode: string }) => shortCode));
      cursor = body.nextCursor === null ? '' : `&cursor=${encodeURIComponent(body.nextCursor)}`;
    } while (cursor !== '');
    expect(listed.toSorted()).toEqual(made.map(({ link }) => link.shortCode).toSorted());
    for (const { link } of [made[0]!, made[999]!]) await leadsTo(link.longUrl, link.shortCode);
  });

  test('an account’s key works everywhere until it is revoked, and sees its own links only', async () => {
    const { accountId, key } = await accountOn(here, 'pro');
    const own = await there('POST', '/api/v1/links', { key, body: { longUrl: page } });
    expect(own.status).toBe(201);
    const foreign = await codeOf(here);
    expectProblem(await there('GET', `/api/v1/links/${foreign}`, { key }), 404, 'not_found');
    const { links } = (await here('GET', '/api/v1/links', { key })).body;
    expect(links.map(({ shortCode }: { shortCode: string }) => shortCode)).toEqual([own.body.shortCode]);
    const { keys } = (await here('GET', `/api/v1/keys?accountId=${accountId}`)).body;
    expect((await there('DELETE', `/api/v1/keys/${keys[0].id}`)).status).toBe(204);
    for (const call of [here, there])
      expectProblem(await call('GET', '/api/v1/links', { key }), 401, 'unauthorized');
    await leadsTo(page, own.body.shortCode);
  });

  test('a moderator blocks a link that a visitor reported: it is dead everywhere, and in the audit log', async () => {
    const code = await codeOf(here);
    await leadsTo(page, code);
    const report = { shortCode: code, category: 'phishing', text: 'It asks for my password.' };
    expect((await here('POST', '/api/v1/reports', { key: undefined, body: report })).status).toBe(202);
    const { entries } = (await there('GET', '/api/v1/moderation/queue')).body;
    expect(entries).toMatchObject([{ link: { shortCode: code }, review: { reporters: 1 } }]);
    const decision = { decision: 'block', reason, version: entries[0].link.version };
    const decided = await there('POST', `/api/v1/moderation/links/${code}/decision`, { body: decision });
    expect(decided).toMatchObject({ status: 200, body: { link: { status: 'blocked' } } });
    await leadsTo('410', code);
    const trail = (await here('GET', `/api/v1/audit?subjectKind=link&subjectId=${code}`)).body;
    expect(trail.entries[0]).toMatchObject({ reason, after: { status: 'blocked' } });
    expect((await here('GET', '/api/v1/moderation/queue')).body.entries).toEqual([]);
  });

  test('a destination on the blocklist is rejected and not followed, until it is removed', async () => {
    const longUrl = 'https://evil.example/';
    const code = await codeOf(here, { longUrl });
    await leadsTo(longUrl, code);
    const entry = (await here('POST', '/api/v1/blocklist', { body: { entry: 'evil.example', reason } })).body;
    await leadsTo('410', code);
    expectProblem(await create(there, { longUrl }), 403, 'url_blocked');
    expect((await there('DELETE', `/api/v1/blocklist/${entry.id}`)).status).toBe(204);
    await leadsTo(longUrl, code);
  });

  test('an account creates as many links as its plan allows and then learns when to retry', async () => {
    const { key } = await accountOn(here, 'free');
    const links = Array.from({ length: 100 }, () => ({ longUrl: page }));
    expect((await here('POST', '/api/v1/links/bulk', { key, body: { links } })).status).toBe(200);
    const refused = await here('POST', '/api/v1/links', { key, body: { longUrl: page } });
    expectProblem(refused, 429, 'rate_limited');
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);
  });

  test('a process that stops loses nothing that it has acknowledged', async () => {
    const asked = Array.from({ length: 50 }, (_, n) =>
      create(there, { longUrl: `${page}/last/${n}` }).catch(() => undefined),
    );
    expect((await asked[0])?.status).toBe(201);
    expect(await processes[1].stop()).toBe(0);
    const answered = (await Promise.all(asked)).filter(answer => answer?.status === 201);
    expect(await processes[0].stop()).toBe(0);
    processes = [await start(), await start()];
    [here, there] = [asAdmin(processes[0]), asAdmin(processes[1])];
    expect(processes.filter(tellsOfKey)).toEqual([]);
    for (const answer of answered) await leadsTo(answer!.body.longUrl, answer!.body.shortCode);
    await leadsTo(page, alias);
  });
}
