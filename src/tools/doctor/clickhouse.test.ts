import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Server } from 'bun';
import { sharedClickHouse } from '../../../test/kit/engines/clickhouse.ts';
import { patientClickHouse } from '../../../test/kit/engines/clickhouse-client.ts';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { warehouseMigrations } from '../../clicks/warehouses/clickhouse/schema.ts';
import { examineClickHouse } from '../../engines/clickhouse/doctor.ts';
import { runMigrations } from '../../engines/clickhouse/migrations.ts';
import { findingOf, verdictsOf } from './fake-verdicts.ts';

const look = (url: string, clock: Clock = systemClock) =>
  examineClickHouse({ url, clock, random: systemRandom, migrations: warehouseMigrations });

test('an address where nothing listens is one finding that names no secret', async () => {
  const findings = await look('clickhouse://terse:hunter2@127.0.0.1:1/terse');
  expect(findings).toMatchObject([
    { subject: 'clickhouse', check: 'reachable', verdict: 'fail', fix: expect.stringContaining('start') },
  ]);
  expect(findings[0]?.detail).toStartWith('127.0.0.1:1/terse: ');
  expect(JSON.stringify(findings)).not.toContain('hunter2');
});

describeWithEngine('clickhouse', 'the doctor of ClickHouse', () => {
  /** A proxy before the real server that refuses chosen queries as the server would, by number and text. */
  let refused: { readonly pattern: RegExp; readonly code: number } | undefined;
  let forwardTo = '';
  let front: Server<undefined>;
  beforeAll(() => {
    front = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: forwarded });
  });
  afterAll(() => front.stop(true));

  async function forwarded(request: Request): Promise<Response> {
    const { search, searchParams } = new URL(request.url);
    const body = await request.text();
    if (!refused?.pattern.test(searchParams.get('query') ?? body))
      return fetch(`${forwardTo}/${search}`, { method: 'POST', body });
    const headers = { 'X-ClickHouse-Exception-Code': String(refused.code) };
    return new Response(`Code: ${refused.code}. You may not.`, { status: 403, headers });
  }

  async function freshUrl(): Promise<string> {
    const url = new URL((await sharedClickHouse()).freshDatabaseUrl());
    forwardTo = `http://${url.host}`;
    return url.href;
  }
  const throughFront = (url: string): string => {
    const address = new URL(url);
    address.host = `127.0.0.1:${front.port}`;
    return address.href;
  };

  test('reports a missing database, finds nothing wrong with one that was set up, and leaves nothing behind', async () => {
    const url = await freshUrl();
    expect(findingOf(await look(url), 'database')).toMatchObject({
      verdict: 'warn',
      fix: 'run `terse setup` to create it',
    });
    const clickHouse = patientClickHouse(url);
    await runMigrations(clickHouse, warehouseMigrations);
    const tables = () =>
      clickHouse.rows('SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name');
    const before = await tables();
    const { latency: _latency, room: _room, ...verdicts } = verdictsOf(await look(url));
    expect(verdicts).toEqual({
      version: 'ok',
      clock: 'ok',
      database: 'ok',
      permissions: 'ok',
      'counting once': 'ok',
      schema: 'ok',
    });
    expect(await tables()).toEqual(before);
  });

  test.each([
    ['a table', /^CREATE TABLE/],
    ['a view', /^CREATE MATERIALIZED/],
    ['rows', /^INSERT/],
    ['a deletion', /^DELETE/],
    ['a dropped day', /^ALTER/],
  ])('a user who may not create %s sees what to grant', async (_what, pattern) => {
    const url = await freshUrl();
    await patientClickHouse(url).ensureDatabase();
    refused = { pattern, code: 497 };
    const finding = findingOf(await look(throughFront(url)), 'permissions');
    refused = undefined;
    expect(finding).toMatchObject({ verdict: 'fail', fix: expect.stringMatching(/^GRANT .* ON test_/) });
  });

  test('a wrong password is not mistaken for a server that is down', async () => {
    const url = await freshUrl();
    refused = { pattern: /./, code: 516 };
    const [finding] = await look(throughFront(url));
    refused = undefined;
    expect(finding).toMatchObject({
      check: 'reachable',
      verdict: 'fail',
      fix: 'correct the user or the password in TERSE_STATS',
    });
  });

  test('a clock that differs and a schema of a newer Terse are found', async () => {
    const url = await freshUrl();
    const { component, steps } = warehouseMigrations;
    await runMigrations(patientClickHouse(url), { component, steps: [...steps, [], []] });
    const late: Clock = { ...systemClock, now: () => systemClock.now() - 60_000 };
    expect(verdictsOf(await look(url, late))).toMatchObject({ clock: 'warn', schema: 'fail' });
  });
});
