/**
 * Checks a ClickHouse server as an operator would who knows what Terse needs of it. What it cannot find out by asking
 * it tries, in a table and a view of its own that are dropped afterwards: whether an insert that is sent twice counts
 * once depends on the server, and the counts depend on it.
 */
import type { Clock } from '../../base/clock.ts';
import { Findings, medianMs, messageOf } from '../../base/finding.ts';
import type { Random } from '../../base/random.ts';
import { parseAddress } from './address.ts';
import { ClickHouse, ClickHouseError } from './clickhouse.ts';
import { type MigrationSet, versionOf } from './migrations.ts';

export interface ClickHouseExamination {
  readonly url: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly migrations: MigrationSet;
}

const answerMaxMs = 5_000;
/** The oldest whose way with views and tokens is tested. */
const oldestVersion = 26;
const slowMs = 20;
const gigabyte = 1024 ** 3;
const roomWarnBytes = 10 * gigabyte;
/** Of questions that are about the server and not about our database, which may not be there. */
const outside = { settings: { database: 'system' } };
const accessDenied = 497;
const grants = 'SELECT, INSERT, ALTER, CREATE TABLE, CREATE VIEW, DROP TABLE, DROP VIEW';

export async function examineClickHouse(examination: ClickHouseExamination): Promise<Findings['list']> {
  const { url, clock } = examination;
  const findings = new Findings('clickhouse');
  const address = parseAddress(url);
  const clickHouse = new ClickHouse({ address, clock, readMaxMs: answerMaxMs, writeMaxMs: answerMaxMs });
  try {
    await examineServer(findings, clickHouse);
  } catch (error) {
    findings.fail('reachable', `${address.place}: ${messageOf(error)}`, adviceFor(error, address.username));
    return findings.list;
  }
  try {
    await findings.clock(clock, async () => {
      const asked = 'SELECT toUnixTimestamp64Milli(now64(3)) AS ms';
      return (await clickHouse.rows<{ ms: number }>(asked, outside))[0]!.ms;
    });
    const nearer = 'run what asks for statistics nearer to ClickHouse';
    await findings.latency(clock, () => clickHouse.rows('SELECT 1', outside), slowMs, nearer);
    await examineRoom(findings, clickHouse);
    if (await hasDatabase(findings, clickHouse)) {
      await examineWriting(findings, clickHouse, address.username, examination);
      await examineSchema(findings, clickHouse, examination.migrations);
    }
  } catch (error) {
    findings.fail('examination', messageOf(error), 'look at the log of ClickHouse, and run this again');
  }
  return findings.list;
}

async function examineServer(findings: Findings, clickHouse: ClickHouse): Promise<void> {
  const [server] = await clickHouse.rows<{ version: string }>('SELECT version() AS version', outside);
  findings.version(server?.version ?? '', oldestVersion);
}

/** Nothing is said where we may not ask: Terse itself does not need to. */
async function examineRoom(findings: Findings, clickHouse: ClickHouse): Promise<void> {
  const disks = await clickHouse
    .rows<{ name: string; free: number }>('SELECT name, unreserved_space AS free FROM disks', outside)
    .catch(() => []);
  for (const { name, free } of disks) {
    const shown = `${(free / gigabyte).toFixed(1)} GB free on the disk ${name}`;
    const fix = 'make room: when it is full, clicks wait in Kafka until it is not';
    findings.judge('room', free >= roomWarnBytes, shown, fix);
  }
}

async function hasDatabase(findings: Findings, clickHouse: ClickHouse): Promise<boolean> {
  const { database } = clickHouse;
  const [row] = await clickHouse.rows<{ found: number }>(
    `SELECT count() AS found FROM databases WHERE name = '${database}'`,
    outside,
  );
  if (row?.found === 1) findings.ok('database', `${database} exists`);
  else findings.warn('database', `the database ${database} does not exist`, 'run `terse setup` to create it');
  return row?.found === 1;
}

/** The same as clicks go through: a table that keeps nothing, a view on it, and one that takes each token once. */
async function examineWriting(
  findings: Findings,
  clickHouse: ClickHouse,
  user: string,
  { clock, random }: ClickHouseExamination,
): Promise<void> {
  const [incoming, view, kept] = ['incoming', 'view', 'kept'].map(
    part => `terse_doctor_${part}_${random.bytes(6).toHex()}`,
  );
  const insert = (token: number): Promise<void> =>
    clickHouse.insert({
      table: incoming!,
      format: 'JSONEachRow',
      body: '{"n":1}',
      settings: {
        insert_deduplication_token: `doctor-${token}`,
        deduplicate_blocks_in_dependent_materialized_views: 1,
      },
    });
  try {
    await clickHouse.run(`CREATE TABLE ${incoming} (n UInt8) ENGINE = Null`);
    await clickHouse.run(
      `CREATE TABLE ${kept} (n UInt8) ENGINE = MergeTree PARTITION BY n ORDER BY n SETTINGS non_replicated_deduplication_window = 100`,
    );
    await clickHouse.run(`CREATE MATERIALIZED VIEW ${view} TO ${kept} AS SELECT n FROM ${incoming}`);
    let token = 0;
    const blockMs = await medianMs(clock, () => insert(++token));
    await insert(token);
    const [row] = await clickHouse.rows<{ rows: number }>(`SELECT count() AS rows FROM ${kept}`);
    await clickHouse.run(`DELETE FROM ${kept} WHERE n = 1`);
    await clickHouse.run(`ALTER TABLE ${kept} DROP PARTITION 1`);
    findings.ok('permissions', `can make tables and views and write; ${blockMs.toFixed(1)} ms for a block`);
    if (row?.rows === token) findings.ok('counting once', 'what is sent twice is taken once');
    else {
      const fix = 'use a version that is tested, with MergeTree tables as they come';
      findings.fail('counting once', `${token + 1} inserts, one of them sent twice, left ${row?.rows}`, fix);
    }
  } catch (error) {
    findings.fail('permissions', messageOf(error), adviceFor(error, user, clickHouse.database));
  } finally {
    await clickHouse.run(`DROP VIEW IF EXISTS ${view}`).catch(() => undefined);
    for (const table of [kept, incoming])
      await clickHouse.run(`DROP TABLE IF EXISTS ${table}`).catch(() => undefined);
  }
}

async function examineSchema(
  findings: Findings,
  clickHouse: ClickHouse,
  { component, steps }: MigrationSet,
): Promise<void> {
  const version = await versionOf(clickHouse, component);
  if (version > steps.length) {
    const detail = `${component} is version ${version}, this Terse knows ${steps.length}`;
    findings.fail('schema', detail, 'run the version of Terse that wrote it, or a later one');
  } else if (version === 0) findings.ok('schema', 'the first use makes the tables');
  else if (version < steps.length) findings.ok('schema', 'the next use brings the tables up to date');
  else findings.ok('schema', 'up to date');
}

function adviceFor(error: unknown, user: string, database = '*'): string {
  const code = codeOf(error);
  if (code === accessDenied) return `GRANT ${grants} ON ${database}.* TO ${user}`;
  if (code !== undefined) return 'correct the user or the password in TERSE_STATS';
  return 'start ClickHouse, or correct the host and the port of its HTTP interface in TERSE_STATS; a firewall may be in between';
}

/** What the server itself said, if it was the server. */
function codeOf(error: unknown): number | undefined {
  if (error instanceof ClickHouseError) return Number.isNaN(error.code) ? undefined : error.code;
  return error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : undefined;
}
