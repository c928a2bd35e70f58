/**
 * Calls every operation of our own OpenAPI document in all the ways that the document describes and in many that it
 * does not. The server may reject; it must not fail, give undocumented answers, lose what it accepted or keep anything
 * of what it rejected.
 */
import { afterAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { callerOf } from '../kit/client.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { seedNote, testSeed } from '../kit/seed.ts';
import { addAccount, storedRows } from '../kit/stored-rows.ts';
import { adminKey, startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { type ModelAccount, People } from './account-model.ts';
import { aimedAt, aimedBefore, preparations, unseenAmong } from './answer-search.ts';
import { listedHost } from './blocklist-effects.ts';
import { effects, objectOf, repeatKeyOf } from './effects.ts';
import { type FuzzAnswer, FuzzClient } from './fuzz-client.ts';
import { schemasIn, type Validate } from './json-schema.ts';
import { createJudges } from './judge.ts';
import { type LinkInput, type LinkView, Model, type Owner, shown, withoutClicks } from './model.ts';
import { type RequestPlan, requestPlans } from './openapi-client.ts';
import { type OpenApiDocument, type Operation, operationsOf } from './openapi-operations.ts';
import { hasReason } from './refusals.ts';
import { described, fillIn, type SentRequest } from './sent-request.ts';
import { StoredTotals } from './stored-totals.ts';

const runsPerOperation = scaled(40, 3_000);
const runsMixed = scaled(400, 50_000);
/** Hashing a password takes a hundred times as long as anything else. */
const hashing = new Set(['openSession', 'signUp', 'editOwnAccount']);
const runsPerHashing = scaled(12, 1_000);
/** If random requests miss an answer, more requests of the same operation are tried, up to a limit. */
const searchRoundsMax = 20;
const mixedRunsPerRound = 200;
const runsPerSearch = 20;
const runsPerAim = 6;
const searchesPerRound = 5;

const listFolder = temporaryFolder();
const listPath = join(listFolder, 'list.txt');
writeFileSync(listPath, `${listedHost}\n`);
const terse = await startTerseProcess({ env: { TERSE_SIGNUP: 'on', TERSE_BLOCKLISTS: listPath } });
const asAdmin = callerOf(terse.url);
const startingKeys = {
  stranger: addAccount(terse.dataFolder, 'stranger'),
  suspended: addAccount(terse.dataFolder, 'suspended'),
  narrow: [await narrowKey('links:read'), await narrowKey('stats:read')],
};
const starting: Partial<Record<Owner, ModelAccount>> = {
  admin: await startingAccount(adminKey),
  stranger: await startingAccount(startingKeys.stranger),
};
await asAdmin('POST', '/api/v1/accounts/suspended/suspend', { body: {} });
const document = (await (await fetch(`${terse.url}/api/v1/openapi.json`)).json()) as OpenApiDocument;
const operations = operationsOf(document);
const schemas = schemasIn(document);
const judges = createJudges(operations, schemas);
const client = new FuzzClient(terse.url);
const defaults = defaultsIn(operations.find(({ id }) => id === 'replaceLink')!);
const model = new Model(defaults, new People(starting));
/** Per operation, every status and problem code that was seen. */
const seen = new Map<string, Set<string>>(operations.map(({ id }) => [id, new Set()]));

afterAll(async () => {
  client.close();
  stored.close();
  await terse.stop();
  rmSync(listFolder, { recursive: true, force: true });
});

async function narrowKey(scope: string): Promise<{ secret: string; scope: string }> {
  const { body } = await asAdmin('POST', '/api/v1/keys', {
    body: { name: 'narrow', accountId: 'stranger', scopes: [scope] },
  });
  return { secret: body.key, scope };
}

async function startingAccount(key: string): Promise<ModelAccount> {
  const { body } = await asAdmin('GET', '/api/v1/account', { key });
  const { scopes: _scopes, keyId: _keyId, sessionId: _sessionId, ...view } = body;
  return { view };
}

/** A replaced link gets the documented default for fields that are left out; a new one gets the same. */
function defaultsIn({ body }: Operation): LinkInput {
  const { properties } = schemas.resolve(body!) as { properties: Record<string, { default?: unknown }> };
  const defaults = Object.entries(properties).map(([name, { default: value }]) => [name, value]);
  return Object.fromEntries(defaults.filter(([, value]) => value !== undefined));
}

const stored = new StoredTotals(terse.dataFolder);

const validators = new Map<unknown, Validate>();
function validatorOf(schema: Parameters<typeof schemas.compile>[0]): Validate {
  const validate = validators.get(schema) ?? schemas.compile(schema);
  validators.set(schema, validate);
  return validate;
}

/** Checks an answer against the document, whatever the request was. Returns the parsed body. */
function expectDocumented({ operation }: SentRequest, answer: FuzzAnswer): unknown {
  const documented = operation.answers.get(answer.status);
  expect({ status: answer.status, documented: documented !== undefined }).toMatchObject({ documented: true });
  expect(answer.status).toBeLessThan(500);
  for (const name of documented!.headers) expect(answer.headers).toHaveProperty(name.toLowerCase());
  if (documented!.media.size === 0) {
    expect(answer.bytes).toHaveLength(0);
    return undefined;
  }
  expect([...documented!.media.keys()]).toContain(answer.mediaType);
  const schema = documented!.media.get(answer.mediaType);
  if (schema === undefined) return undefined;
  const body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(answer.bytes));
  expect(validatorOf(schema)(body)).toEqual([]);
  if (answer.status < 400) return withPlausibleClicks(body);
  expect(answer.mediaType).toBe('application/problem+json');
  expect(body.status).toBe(answer.status);
  expect(documented!.description).toContain(`\`${body.code}\``);
  return body;
}

/** A link's count never exceeds the redirects that clients got; returns the body without the numbers. */
function withPlausibleClicks(answer: unknown): unknown {
  const { body, clicks } = withoutClicks(answer);
  for (const [code, count] of clicks)
    expect(Number(count)).toBeLessThanOrEqual(model.links.get(code)?.visits ?? 0);
  return body;
}

/** Checks that nothing of a rejected request is kept, and that there was a reason to reject it. */
function expectRefused(sent: SentRequest, code: string | undefined): void {
  stored.expectUnchanged();
  // A browser gets a page without a problem code.
  if (code === undefined) return;
  const input = objectOf(sent.input);
  const refused = { sent, flaws: judges.request(sent), model, owner: sent.owner, input };
  const justified = hasReason(code, { ...refused, repeatKey: repeatKeyOf(sent, 0, input) });
  expect({ code, justified }).toEqual({ code, justified: true });
}

/** Checks that an accepted request is valid by the document and had its effect. */
async function expectAccepted(sent: SentRequest, answer: FuzzAnswer, body: unknown): Promise<void> {
  const { id, method } = sent.operation;
  expect([...judges.request(sent)]).toEqual([]);
  const effect = effects[id];
  if (effect === undefined) throw new Error(`nobody says what ${id} must do: add it to effects.ts`);
  effect({ sent, answer, body, model, judges });
  // Following a link may count against its limit.
  if (method === 'GET' && id !== 'followLink') return stored.expectUnchanged();
  stored.note();
  if (sent.header('Idempotency-Key') === undefined) return;
  const again = await client.send(sent.bytes);
  expect(again.status).toBe(answer.status);
  expect(expectDocumented(sent, again)).toEqual(body);
  stored.expectUnchanged();
}

async function exchange(operation: Operation, plan: RequestPlan): Promise<void> {
  const sent = fillIn(operation, plan, model, startingKeys);
  let received = 'no answer';
  try {
    const answer = await client.send(sent.bytes);
    received = `${answer.status} ${Buffer.from(answer.bytes).toString().slice(0, 1_000)}`;
    const body = expectDocumented(sent, answer) as { code?: string } | undefined;
    const whatWasSeen = seen.get(operation.id)!;
    whatWasSeen.add(String(answer.status)).add(body?.code ?? '');
    if (answer.status >= 400) expectRefused(sent, body?.code);
    else await expectAccepted(sent, answer, body);
  } catch (error) {
    stored.note();
    throw new Error(`${(error as Error).message}\n\n${described(sent)}\n→ ${received}\n${seedNote}`);
  }
}

const options = { seed: testSeed, endOnFailure: true } as const;

test.each(operations.map(operation => [operation.id, operation] as const))(
  '%s answers as documented, whatever it is sent',
  async (_, operation) => {
    const plans = requestPlans(operation, schemas);
    await fc.assert(
      fc.asyncProperty(plans, plan => exchange(operation, plan)),
      { ...options, numRuns: hashing.has(operation.id) ? runsPerHashing : runsPerOperation },
    );
  },
  heavyTestMaxMs,
);

/** Requests of all kinds, in any order. */
async function mixed(settings: typeof options & { readonly numRuns: number }): Promise<void> {
  const byId = new Map(operations.map(operation => [operation.id, operation]));
  const plans = fc.oneof(...operations.map(operation => requestPlans(operation, schemas)));
  await fc.assert(
    fc.asyncProperty(plans, plan => exchange(byId.get(plan.operationId)!, plan)),
    settings,
  );
}

test(
  'requests of all kinds in any order leave exactly what was accepted',
  () => mixed({ ...options, numRuns: runsMixed }),
  heavyTestMaxMs,
);

const unseenOf = (operation: Operation): string[] => unseenAmong(operation, seen.get(operation.id)!);
const isAllSeen = (): boolean => operations.every(each => unseenOf(each).length === 0);

/** Sends requests that are aimed at unseen answers, where that is possible. */
async function aim(operation: Operation): Promise<void> {
  for (const what of unseenOf(operation)) {
    for (const id of [...(aimedBefore[what] ?? []), operation.id]) {
      const tried = operations.find(each => each.id === id)!;
      const plans = aimedAt(what, requestPlans(tried, schemas));
      if (plans === undefined) continue;
      const property = fc.asyncProperty(plans, plan => exchange(tried, plan));
      await fc.assert(property, { ...options, numRuns: runsPerAim });
    }
  }
}

/** Sends random requests for the remaining answers, after the operations that must precede them. */
async function search(operation: Operation, seed: number): Promise<void> {
  for (const id of [...(preparations[operation.id] ?? []), operation.id]) {
    const tried = operations.find(each => each.id === id)!;
    const property = fc.asyncProperty(requestPlans(tried, schemas), plan => exchange(tried, plan));
    await fc.assert(property, { ...options, seed, numRuns: runsPerSearch });
  }
}

test(
  'every answer that the document names is given, apart from failures',
  async () => {
    for (let round = 1; round <= searchRoundsMax && !isAllSeen(); round += 1) {
      for (const operation of operations) await aim(operation);
      for (const operation of operations) {
        for (let tries = 0; tries < searchesPerRound && unseenOf(operation).length > 0; tries += 1)
          await search(operation, testSeed + round * searchesPerRound + tries);
      }
      // Some answers depend on the effects of other operations.
      if (!isAllSeen()) await mixed({ ...options, seed: testSeed + round, numRuns: mixedRunsPerRound });
    }
    expect(operations.map(each => [each.id, ...unseenOf(each)]).filter(each => each.length > 1)).toEqual([]);
  },
  heavyTestMaxMs,
);

test('everything accepted is stored with the accepted values, and nothing else is', async () => {
  for (const { view, deleted } of model.links.values()) {
    const { status, body } = await asAdmin('GET', `/api/v1/links/${view.shortCode}`);
    expect({ status, body: deleted ? null : withPlausibleClicks(body) }).toEqual(
      deleted ? { status: 410, body: null } : { status: 200, body: shown(view) },
    );
  }
  const rows = storedRows(terse.dataFolder);
  expect(new Set(rows.links.map(row => row.code))).toEqual(new Set(model.links.keys()));
  const startingAccounts = 3;
  expect(rows.keys).toHaveLength(model.keys.size + startingAccounts + startingKeys.narrow.length);
  const { accounts, signedUpEmails } = model.people;
  expect(rows.accounts).toHaveLength(accounts.size + signedUpEmails.size + startingAccounts);
  expect(rows.answers).toHaveLength(model.answered.size);
  expect(rows.tags).toHaveLength(model.liveLinks().reduce((total, { view }) => total + view.tags.length, 0));
});

test.each([
  ['admin', adminKey],
  ['stranger', startingKeys.stranger],
] as const)('page by page, %s sees each own link once and in order', async (owner, key) => {
  const call = callerOf(terse.url);
  const codes: string[] = [];
  let cursor = '';
  do {
    const { body } = await call('GET', `/api/v1/links?limit=7&sort=createdAt${cursor}`, { key });
    codes.push(...body.links.map((link: LinkView) => link.shortCode));
    cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
  } while (cursor !== '' && codes.length <= model.links.size);
  expect(codes).toEqual(model.linksOf(owner).map(({ view }) => view.shortCode));
});
