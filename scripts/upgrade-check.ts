/**
 * `npm run upgrade-check -- COMMIT`: makes an installation with the code of COMMIT, on SQLite and on Postgres, opens it
 * with the code of this clone, and compares everything that the API and the redirects answer before and after.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freeEnginePorts } from '../test/kit/engines/free-port.ts';
import { startPostgres } from '../test/kit/engines/postgres.ts';

const root = join(import.meta.dir, '..');
const adminKey = `upgrade-check-${crypto.randomUUID()}-${crypto.randomUUID()}`;
const password = 'correct horse battery staple';
const agents = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
];
/** Fields that depend on the time of asking, not on what is stored. */
const volatile = new Set([
  'lastUpdatedAt',
  'lastUsedAt',
  'lastSeenAt',
  'queueAgeSeconds',
  'checkedAt',
  'minutesFrom',
  'loadedAt',
]);

interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly location: string | null;
  readonly cookie: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API answers
  readonly body: any;
}

interface CallOptions {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

async function start(folder: string, env: Record<string, string>): Promise<Server> {
  const [port] = freeEnginePorts(1);
  const child = Bun.spawn([process.execPath, join(folder, 'src/main.ts'), 'serve'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      TERSE_ADMIN_KEY: adminKey,
      TERSE_LIMITS: 'off',
      TERSE_LOG_LEVEL: 'error',
      TERSE_BASE_URL: 'https://terse.example',
      ...env,
    },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  });
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${folder} ended with ${child.exitCode}`);
    const isReady = await fetch(`${url}/api/v1/account`, { headers: { 'x-api-key': adminKey } }).then(
      answer => answer.ok,
      () => false,
    );
    if (isReady) break;
    await Bun.sleep(50);
  }
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}

function callerOf({ url }: Server) {
  return async function call(
    method: string,
    path: string,
    options: CallOptions = {},
    attemptsLeft = 20,
  ): Promise<Answer> {
    const answer = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(path.startsWith('/api/') ? { authorization: `Bearer ${options.key ?? adminKey}` } : {}),
        ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    });
    const text = await answer.text();
    // A busy server leaves out counts that it does not have in time.
    if (method === 'GET' && text.includes('"clicks":null') && attemptsLeft > 0) {
      await Bun.sleep(250);
      return call(method, path, options, attemptsLeft - 1);
    }
    const isJson = /[/+]json\b/.test(answer.headers.get('content-type') ?? '');
    return {
      status: answer.status,
      location: answer.headers.get('location'),
      cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '',
      body: isJson ? JSON.parse(text) : text,
    };
  };
}

type Call = ReturnType<typeof callerOf>;

function expectStatus(answer: Answer, ...statuses: number[]): Answer {
  if (!statuses.includes(answer.status))
    throw new Error(`expected ${statuses}, got ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}

/** What the comparison needs to ask for things again. */
interface Filled {
  readonly codes: readonly string[];
  readonly keys: Readonly<Record<string, string>>;
  readonly cookie: string;
  readonly invitation: string;
}

async function fill(server: Server): Promise<Filled> {
  const call = callerOf(server);
  const made = async (path: string, body: unknown, options: CallOptions = {}) =>
    expectStatus(await call('POST', path, { ...options, body }), 200, 201, 202, 204);

  const accounts: string[] = [];
  for (const [index, plan] of (['free', 'pro', 'unlimited'] as const).entries())
    accounts.push(
      (await made('/api/v1/accounts', { name: `Owner ${index}`, email: `owner${index}@example.com`, plan }))
        .body.id,
    );
  const keys: Record<string, string> = {};
  for (const accountId of accounts)
    keys[accountId] = (await made('/api/v1/keys', { name: 'main', accountId })).body.key;
  const owner = accounts[0]!;
  const ownerKey = keys[owner]!;
  const readOnly = await made('/api/v1/keys', { name: 'reader', accountId: owner, scopes: ['links:read'] });
  keys.reader = readOnly.body.key;
  const revoked = await made('/api/v1/keys', { name: 'revoked', accountId: owner });
  keys.revoked = revoked.body.key;
  expectStatus(await call('DELETE', `/api/v1/keys/${revoked.body.id}`), 204);
  const rotated = await made('/api/v1/keys', { name: 'rotated', accountId: owner });
  keys.before = rotated.body.key;
  keys.rotated = (await made(`/api/v1/keys/${rotated.body.id}/rotate`, { overlapSeconds: 3600 })).body.key;
  const invited = await made(`/api/v1/accounts/${accounts[1]}/invitation`, undefined);
  const invitation = JSON.stringify(invited.body);
  const accepted = await made(`/api/v1/accounts/${accounts[2]}/invitation`, undefined);
  const token = /[?#/=]([\w-]{20,})"/.exec(JSON.stringify(accepted.body))?.[1] ?? accepted.body.token;
  await made(
    '/api/v1/invitations/accept',
    { token, password },
    { headers: { origin: 'https://terse.example' } },
  );
  const session = await made(
    '/api/v1/session',
    { email: 'owner2@example.com', password },
    { headers: { origin: 'https://terse.example' } },
  );
  await made(`/api/v1/accounts/${accounts[1]}/suspend`, { reason: 'upgrade check' });

  const codes: string[] = [];
  const items = Array.from({ length: 300 }, (_, index) => ({
    longUrl: `https://site${index % 7}.example.com/page/${index}?q=${index}`,
    title: index % 3 === 0 ? `Title ${index} é` : undefined,
    tags: index % 4 === 0 ? ['even', `t${index % 5}`] : undefined,
    customAlias: index % 10 === 0 ? `alias-${index}` : undefined,
    expiresAt: index % 6 === 0 ? '2099-01-02T03:04:05Z' : undefined,
    redirectType: index % 8 === 0 ? 301 : undefined,
    maxClicks: index % 9 === 0 ? 1000 : undefined,
    forwardQuery: index % 5 === 0 ? true : undefined,
    publicStats: index % 11 === 0 ? true : undefined,
  }));
  for (const [part, key] of [ownerKey, keys[accounts[2]!]!, adminKey].entries()) {
    const links = items.slice(part * 100, part * 100 + 100);
    const { results } = (await made('/api/v1/links/bulk', { links }, { key })).body;
    for (const result of results) codes.push((result.link ?? result).shortCode);
  }
  await made(
    '/api/v1/links',
    { longUrl: 'https://once.example.com/' },
    { key: ownerKey, headers: { 'idempotency-key': 'upgrade-check' } },
  );
  for (const code of codes.slice(1, 6)) expectStatus(await call('DELETE', `/api/v1/links/${code}`), 204);
  for (const code of codes.slice(6, 11))
    expectStatus(await call('PATCH', `/api/v1/links/${code}`, { body: { status: 'disabled' } }), 200);
  for (const code of codes.slice(11, 16))
    expectStatus(
      await call('PATCH', `/api/v1/links/${code}`, {
        body: { longUrl: `https://edited.example.com/${code}` },
      }),
      200,
    );

  for (const code of codes.slice(20, 26)) {
    await made('/api/v1/reports', { shortCode: code, category: 'phishing', text: `report of ${code}` });
    await made('/api/v1/reports', { shortCode: code, category: 'phishing', text: `report of ${code}` });
  }
  for (const [index, decision] of ['quarantine', 'disable', 'allow'].entries()) {
    const code = codes[20 + index]!;
    const { link } = (await call('GET', `/api/v1/moderation/links/${code}`)).body;
    await made(`/api/v1/moderation/links/${code}/decision`, {
      decision,
      reason: 'check',
      version: link.version,
    });
    await made(`/api/v1/moderation/links/${code}/notes`, { text: `note on ${code}` });
  }
  await made(`/api/v1/links/${codes[20]}/appeal`, { text: 'It is mine.' }, { key: ownerKey });
  await made('/api/v1/blocklist', { entry: 'evil.example', reason: 'check' });
  const entry = await made('/api/v1/blocklist', { entry: 'taken-back.example', reason: 'check' });
  expectStatus(await call('DELETE', `/api/v1/blocklist/${entry.body.id}`), 204);

  for (let round = 0; round < 5; round += 1)
    for (const [index, code] of codes.slice(26, 90).entries()) {
      await call('GET', `/${code}`, {
        headers: {
          'user-agent': agents[(index + round) % agents.length]!,
          referer: `https://ref${index % 4}.example.org/x`,
          accept: 'text/html',
        },
      });
    }
  return { codes, keys, cookie: session.cookie, invitation };
}

/** Waits until every click that was recorded is counted. */
async function counted(call: Call): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const { totals } = (await call('GET', '/api/v1/reconcile')).body;
    if (totals.produced > 0 && totals.recorded + totals.dropped >= totals.produced) return;
    if (Date.now() > deadline) throw new Error(`not counted: ${JSON.stringify(totals)}`);
    await Bun.sleep(200);
  }
}

async function follow(call: Call, codes: readonly string[]): Promise<Map<string, unknown>> {
  const followed = new Map<string, unknown>();
  const headers = { 'user-agent': agents[2]!, accept: 'application/json' };
  for (const code of codes) {
    const { status, location, body } = await call('GET', `/${code}`, { headers });
    followed.set(`redirect ${code}`, { status, location, code: body?.code });
  }
  return followed;
}

/** Every page of a list as one. */
async function pages(call: Call, path: string, options: CallOptions = {}): Promise<unknown[]> {
  const all: unknown[] = [];
  let cursor: string | undefined;
  do {
    const mark = path.includes('?') ? '&' : '?';
    const at = cursor === undefined ? path : `${path}${mark}cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await call('GET', at, options);
    all.push({ status, ...body, nextCursor: undefined });
    cursor = body.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return all;
}

async function takeSnapshot(server: Server, filled: Filled, range: string): Promise<Map<string, unknown>> {
  const call = callerOf(server);
  const seen = new Map<string, unknown>();
  const lists = ['links?limit=100', 'accounts', 'keys', 'audit', 'blocklist', 'moderation/queue'];
  for (const list of lists) seen.set(list, await pages(call, `/api/v1/${list}`));
  for (const [name, key] of Object.entries(filled.keys)) {
    seen.set(`links of ${name}`, await pages(call, '/api/v1/links?limit=100', { key }));
    seen.set(`keys of ${name}`, await pages(call, '/api/v1/keys', { key }));
    const { status, body } = await call('GET', '/api/v1/account', { key });
    seen.set(`account of ${name}`, { status, body });
  }
  const headers = { cookie: filled.cookie, authorization: '' };
  const { status, body } = await call('GET', '/api/v1/sessions', { headers });
  seen.set('sessions', { status, body });
  for (const code of filled.codes) {
    const link = await call('GET', `/api/v1/links/${code}`);
    seen.set(`link ${code}`, { status: link.status, body: link.body });
    const stats = await call('GET', `/api/v1/links/${code}/stats?${range}`);
    seen.set(`stats ${code}`, { status: stats.status, body: stats.body });
  }
  for (const code of filled.codes.slice(0, 40)) {
    seen.set(`case ${code}`, (await call('GET', `/api/v1/moderation/links/${code}`)).body);
    seen.set(`history ${code}`, await pages(call, `/api/v1/links/${code}/history`));
  }
  for (const code of filled.codes.slice(26, 60))
    seen.set(`clicks ${code}`, (await call('GET', `/api/v1/links/${code}/clicks?format=ndjson`)).body);
  return seen;
}

/** A JSON text without what depends on the moment, so that equal answers have equal texts. */
const textOf = (value: unknown, url: string): string =>
  (
    JSON.stringify(value, (name, each) => {
      if (volatile.has(name)) return undefined;
      if (each?.type?.startsWith?.('/docs#problem') === true) return each.code;
      if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
      const fields = Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1));
      // Entries of the audit log have other ids in records; their order is compared.
      return { ...Object.fromEntries(fields), ...('action' in each && { id: undefined }) };
    }) ?? ''
  ).replaceAll(url, 'http://here');

async function check(name: string, oldFolder: string, env: Record<string, string>): Promise<number> {
  const before = await start(oldFolder, env);
  try {
    return await compare(name, before, env);
  } finally {
    await before.stop();
  }
}

/** Fields that answers no longer have. */
const goneFields = new Set(['listsFrom', 'listsTo']);

/** What is compared of an answer: lines of JSON as objects, and no field that is gone. */
function knownOf(value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith('{') && value.trimEnd().includes('}\n{'))
    return value
      .trimEnd()
      .split('\n')
      .map(line => knownOf(JSON.parse(line)));
  if (Array.isArray(value)) return value.map(knownOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) => (goneFields.has(name) ? [] : [[name, knownOf(field)]])),
  );
}

/** Of a later answer the fields that the earlier one had: there may be more by now. */
function shapedLike(before: unknown, after: unknown): unknown {
  if (Array.isArray(before) && Array.isArray(after))
    return after.map((item, index) => shapedLike(before[index] ?? before[0], item));
  if (typeof before !== 'object' || before === null || typeof after !== 'object' || after === null)
    return after;
  const known = Object.keys(before) as (keyof typeof after)[];
  return Object.fromEntries(
    known.map(name => [name, shapedLike((before as typeof after)[name], after[name])]),
  );
}

async function compare(name: string, before: Server, env: Record<string, string>): Promise<number> {
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const filled = await fill(before);
  const followedBefore = await follow(callerOf(before), filled.codes);
  await counted(callerOf(before));
  const range = `from=${from}&to=${new Date().toISOString()}&interval=hour`;
  const seenBefore = new Map([...(await takeSnapshot(before, filled, range)), ...followedBefore]);
  await before.stop();
  const after = await start(root, env);
  const snapshot = await takeSnapshot(after, filled, range);
  const seenAfter = new Map([...snapshot, ...(await follow(callerOf(after), filled.codes))]);
  await after.stop();
  let differences = 0;
  for (const [what, value] of seenBefore) {
    const answer = knownOf(value);
    const [old, now] = [
      textOf(answer, before.url),
      textOf(shapedLike(answer, knownOf(seenAfter.get(what))), after.url),
    ];
    if (old === now) continue;
    differences += 1;
    const at = [...old].findIndex((letter, index) => letter !== now[index]);
    const near = (text: string): string => text.slice(Math.max(0, at - 120), at + 120);
    process.stdout.write(`${name}: ${what} differs\n  before …${near(old)}…\n  after  …${near(now)}…\n`);
  }
  process.stdout.write(`${name}: ${seenBefore.size} answers compared, ${differences} differ\n`);
  return differences;
}

async function main(commit: string | undefined): Promise<number> {
  if (commit === undefined) throw new Error('usage: npm run upgrade-check -- COMMIT');
  const scratch = mkdtempSync(join(tmpdir(), 'terse-upgrade-'));
  const old = join(scratch, 'old');
  mkdirSync(old);
  await Bun.$`git -C ${root} archive ${commit} | tar -x -C ${old}`;
  const sameLock =
    (await Bun.$`git -C ${root} diff --quiet ${commit} -- package-lock.json`.nothrow()).exitCode === 0;
  if (sameLock) symlinkSync(join(root, 'node_modules'), join(old, 'node_modules'));
  else await Bun.$`npm ci --no-audit --no-fund --silent`.cwd(old);
  const postgres = await startPostgres();
  try {
    const data = (name: string): string => join(scratch, name);
    const differences =
      (await check('sqlite', old, { TERSE_DATA: data('sqlite') })) +
      (await check('postgres', old, { TERSE_DATA: data('postgres'), TERSE_LINKS: postgres.url }));
    return differences === 0 ? 0 : 1;
  } finally {
    await postgres.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

process.exitCode = await main(process.argv[2]);
