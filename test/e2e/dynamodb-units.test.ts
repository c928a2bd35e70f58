/** What requests consume in DynamoDB: the table in docs/operations/dynamodb.md, and the figures of `npm run capacity`. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { figureTable } from '../../bench/capacity/unit-figures.ts';
import { systemClock } from '../../src/base/clock.ts';
import { openDynamoStores } from '../../src/stores/dynamodb.ts';
import { type Answer, callerOf } from '../kit/client.ts';
import { patientCalls } from '../kit/dynamo-links.ts';
import { type DynamoProxy, type MeteredCall, startDynamoProxy } from '../kit/dynamo-proxy.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedDynamo } from '../kit/engines/dynamodb.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { adminKey } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { browser } from '../kit/visitors.ts';

setDefaultTimeout(120_000);

const page = readFileSync(join(import.meta.dir, '../../docs/operations/dynamodb.md'), 'utf8');
/** The first two columns of numbers, by what the row begins with. */
const documented = Object.fromEntries(
  Array.from(
    page.slice(page.indexOf('## Capacity')).matchAll(/^\| (\w[^|]*) \|([^|]*)\|([^|]*)\|/gm),
    row => [row[1]!, `${row[2]!.trim()} | ${row[3]!.trim()}`],
  ),
);

const linksPath = '/api/v1/links';
const longUrl = `https://example.com/${'x'.repeat(75)}`;
const [email, password] = ['root@example.com', 'correct horse battery'];
const reason = 'It imitates a bank.';

interface Units {
  readonly rcu: number;
  readonly wcu: number;
}

const sumOf = (calls: readonly Units[]): Units => ({
  rcu: calls.reduce((sum, { rcu }) => sum + rcu, 0),
  wcu: calls.reduce((sum, { wcu }) => sum + wcu, 0),
});
/** As the table shows it: one number for several equal ones, and none for nothing. */
function shown(units: readonly Units[]): string {
  const column = (unit: keyof Units): string =>
    [...new Set(units.map(each => each[unit]))].filter(each => each > 0).join(', ');
  return `${column('rcu')} | ${column('wcu')}`;
}

/** What a process asks by itself, whether there are requests or not. */
const isPoll = ({ operation, body }: MeteredCall): boolean =>
  /Get|Query/.test(operation) && /"(feed|range#|record#block-list#)/.test(body);
const isLease = ({ operation, body }: MeteredCall): boolean =>
  operation === 'UpdateItem' && /"(claims|range)#/.test(body);
/** That a key was used is written after the answer. */
const isNote = ({ operation, body }: MeteredCall): boolean =>
  operation === 'TransactWriteItems' && /"record#key#/.test(body) && !body.includes('#audit#');

describeWithEngine('dynamodb', 'what DynamoDB bills', () => {
  let proxy: DynamoProxy;
  let terse: TerseHere;
  let atStart: readonly MeteredCall[];
  beforeAll(async () => {
    proxy = startDynamoProxy((await sharedDynamo()).freshTableUrl());
    atStart = proxy.meter();
    const startedAt = Date.now();
    terse = await startTerseHere({
      // A worker also sweeps, at times of its own.
      env: { TERSE_LINKS: proxy.url, TERSE_ROLES: 'redirect,api' },
      // The use of the key is noted once, however long a busy machine takes.
      clock: { ...systemClock, now: () => startedAt },
      // A call that a busy machine answers too late would be repeated, and counted twice.
      drivers: {
        openStores: ({ links }, options) =>
          openDynamoStores(links, { ...options, ...patientCalls, expiryGraceMs: 1_000 }),
      },
    });
  });
  afterAll(async () => {
    await terse?.stop();
    await proxy?.stop();
  });

  test('is what the documents say', async () => {
    const call = callerOf(terse.url);
    const post = (path: string, body: unknown, headers = {}) => call('POST', path, { body, headers });
    const create = (body: object = {}, headers = {}) => post(linksPath, { longUrl, ...body }, headers);
    const anonymous = (method: string, path: string, body?: unknown): Promise<Answer> =>
      call(method, path, { key: undefined, headers: browser, ...(body !== undefined && { body }) });
    const units = async (work: () => Promise<Answer>, { besidesKey = false } = {}): Promise<Units> => {
      const calls = proxy.meter();
      const { status, body } = await work();
      if (status >= 400 && status !== 404) throw new Error(JSON.stringify(body));
      const { rcu, wcu } = sumOf(calls.filter(each => !isPoll(each)));
      return { rcu: rcu - (besidesKey ? 3 : 0), wcu };
    };
    const withKey = (work: () => Promise<Answer>) => units(work, { besidesKey: true });
    const measured: Record<string, string> = {};
    const row = (name: string, ...each: Units[]): void => {
      measured[name] = shown(each);
    };

    const { shortCode: code } = (await create()).body;
    await until('the use of the key is noted', () => atStart.some(isNote));
    row('use of a key noted', { ...sumOf(atStart.filter(isNote)), rcu: 1 });
    const { headers } = await anonymous('POST', '/api/v1/session', { key: adminKey });
    const session = {
      key: undefined,
      headers: { Cookie: headers.get('set-cookie')!.split(';')[0]!, 'Sec-Fetch-Site': 'same-origin' },
    };
    await call('PATCH', '/api/v1/account', { ...session, body: { email, password } });

    const plain = await units(() => create());
    const bySession = await units(() => call('POST', linksPath, { ...session, body: { longUrl } }));
    row('request with a key, with a session', { ...plain, wcu: 0 }, { ...bySession, wcu: 0 });
    row('create, leased code', await withKey(() => create()));
    const inBulk = Array.from({ length: 10 }, () => ({ longUrl }));
    expect(await withKey(() => post(`${linksPath}/bulk`, { links: inBulk }))).toEqual({ rcu: 0, wcu: 40 });
    row('create, custom alias', await withKey(() => create({ alias: 'my-alias' })));
    row(
      'create with an `Idempotency-Key`, with `findExisting`',
      await withKey(() => create({}, { 'Idempotency-Key': 'one' })),
      await withKey(() => create({ longUrl: `${longUrl}/new`, findExisting: true })),
    );

    const edit = (body: object) => withKey(() => call('PATCH', `${linksPath}/${code}`, { body }));
    row('edit, of the URL', await edit({ title: 'A title' }), await edit({ longUrl: `${longUrl}/other` }));
    row('deletion', await withKey(() => call('DELETE', `${linksPath}/${code}`)));
    const limited = (await create({ maxClicks: 5 })).body.shortCode;
    await anonymous('GET', `/${limited}`);
    row('click of a link with `maxClicks`', await units(() => anonymous('GET', `/${limited}`)));
    row(
      'report of a link',
      await units(() => anonymous('POST', '/api/v1/reports', { shortCode: limited, category: 'phishing' })),
    );
    row(
      'moderator’s decision',
      await withKey(() =>
        post(`/api/v1/moderation/links/${limited}/decision`, { decision: 'quarantine', reason, version: 1 }),
      ),
    );

    const signIn = await units(() => anonymous('POST', '/api/v1/session', { email, password }));
    row('new key, sign-in', await withKey(() => post('/api/v1/keys', { name: 'another' })), signIn);
    const found = (await create()).body.shortCode;
    row('redirect, not in memory or Redis', await units(() => anonymous('GET', `/${found}`)));
    expect(await units(() => anonymous('GET', '/not-there'))).toEqual({ rcu: 1.5, wcu: 0 });

    for (let n = 0; n < 26; n += 1) await create({ alias: `of-a-list-${n}` });
    for (let n = 0; n < 26; n += 1) await call('DELETE', `${linksPath}/of-a-list-${n}`);
    for (let n = 0; n < 26; n += 1) await create();
    const account = (await call('GET', '/api/v1/account')).body.id;
    row(
      'page of 25 links, of the audit log',
      await withKey(() => call('GET', `${linksPath}?limit=25`)),
      await withKey(() => call('GET', '/api/v1/audit?limit=25')),
    );
    const ofAccount = `/api/v1/audit?limit=25&accountId=${account}`;
    expect(await withKey(() => call('GET', ofAccount))).toEqual({ rcu: 29, wcu: 0 });

    const calls = proxy.meter();
    const isOfFeed = (each: MeteredCall): boolean => isPoll(each) && !/block-list/.test(each.body);
    await until('two calls of a poll', () => calls.filter(isOfFeed).length >= 2);
    row('poll of the change feed, per process', sumOf(calls.filter(isOfFeed).slice(0, 2)));
    const leases = atStart.filter(isLease);
    const count = leases.filter(({ body }) => body.includes('"range#')).length;
    row('lease of 10,000 codes', { rcu: 1, wcu: sumOf(leases).wcu / count });
    expect(measured).toEqual(documented);
    const { readRcu, createWcu, changeWcu, pollRcu } = figureTable;
    expect(measured).toMatchObject({
      'redirect, not in memory or Redis': `${readRcu.value} | `,
      'create, leased code': ` | ${createWcu.value}`,
      'edit, of the URL': `2, 3 | 13, ${changeWcu.value}`,
      // And one for each of the four lanes in which changes are.
      'poll of the change feed, per process': `${pollRcu.value - 4} | `,
    });
  });
});
