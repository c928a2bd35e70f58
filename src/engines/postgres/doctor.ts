/**
 * Checks a Postgres server as an operator would who knows what Terse needs of it. It uses a connection of its own and
 * not the pool, because the server's exact message is what helps.
 */
import { Client } from 'pg';
import type { Clock } from '../../base/clock.ts';
import { Findings, medianMs, messageOf } from '../../base/finding.ts';
import type { Random } from '../../base/random.ts';
import { type PostgresAddress, parseAddress } from './address.ts';
import { stateOf } from './failures.ts';
import type { MigrationSet } from './migrations.ts';

export interface PostgresExamination {
  readonly url: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly migrations: readonly MigrationSet[];
  /** How many processes are to share the server, as far as this machine knows. */
  readonly processes: number;
}

const connectMaxMs = 5_000;
const oldestVersion = 14;
const slowMs = 20;
const lagWarnBytes = 16 * 1024 * 1024;
/** The share of connections beyond which others have little left. */
const fullShare = 0.8;
const shownMax = 200;
/** The state of a statement that the role may not make. */
const deniedState = '42501';

type Ask = <Row extends object>(text: string) => Promise<Row>;

export async function examinePostgres(examination: PostgresExamination): Promise<Findings['list']> {
  const findings = new Findings('postgres');
  const address = parseAddress(examination.url);
  await withClient(findings, address.connectionString, address.place, async ask => {
    await examineServer(findings, ask);
    await findings.clock(examination.clock, async () =>
      Number((await ask<{ ms: string }>('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms')).ms),
    );
    const nearer = 'run Terse nearer to Postgres, or name a replica that is near';
    await findings.latency(examination.clock, () => ask('SELECT 1'), slowMs, nearer);
    const { user } = await ask<{ user: string }>('SELECT current_user::text AS user');
    // A role that may only use the tables can do all that a server does, once they are there.
    const canUse = await examineRights(findings, ask, examination.migrations, user);
    const isCurrent = canUse && (await examineSchema(findings, ask, examination.migrations));
    await examineWriting(findings, ask, { ...examination, user, canUse, isCurrent });
    await examineConnections(findings, ask, address, examination.processes);
    if (address.replicaConnectionString !== undefined) {
      await examineReplica(findings, address.replicaConnectionString, ask);
    }
  });
  return findings.list;
}

async function withClient(
  findings: Findings,
  connectionString: string,
  place: string,
  work: (ask: Ask) => Promise<void>,
): Promise<void> {
  const client = new Client({
    connectionString,
    connectionTimeoutMillis: connectMaxMs,
    query_timeout: connectMaxMs,
    application_name: 'terse doctor',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => undefined);
    findings.fail('reachable', `${place}: ${messageOf(error)}`, adviceFor(error, connectionString));
    return;
  }
  const ask: Ask = async <Row extends object>(text: string) => (await client.query(text)).rows[0] as Row;
  try {
    await work(ask);
  } catch (error) {
    findings.fail('examination', messageOf(error), 'look at the log of Postgres, and run this again');
  } finally {
    await client.end().catch(() => undefined);
  }
}

function adviceFor(error: unknown, connectionString: string): string {
  return (
    refusalAdvice(error, connectionString) ??
    'start Postgres, or correct the host and the port in TERSE_LINKS; a firewall may be in between'
  );
}

/** What to do about what the server said, which may be wrapped in other errors; undefined when it said nothing. */
export function refusalAdvice(error: unknown, connectionString: string): string | undefined {
  const state = stateOf(error);
  if (state === undefined && error instanceof Error && error.cause !== undefined)
    return refusalAdvice(error.cause, connectionString);
  const { hostname, port, username: encoded, pathname } = new URL(connectionString);
  const username = decodeURIComponent(encoded);
  if (state === deniedState) return grantAdvice(username);
  if (state === '3D000') {
    const owner = username === '' ? '' : ` --owner=${username}`;
    return `make the database, as a superuser: createdb --host=${hostname} --port=${port || '5432'}${owner} ${pathname.slice(1)}`;
  }
  if (state?.startsWith('28')) return 'correct the user or the password in TERSE_LINKS, or pg_hba.conf';
  if (state?.startsWith('53')) return 'raise max_connections, or end some of the connections';
  return undefined;
}

const grantAdvice = (user: string): string =>
  `GRANT CREATE, USAGE ON SCHEMA public TO ${user === '' ? 'the user in TERSE_LINKS' : quotedName(user)}`;

async function examineServer(findings: Findings, ask: Ask): Promise<void> {
  const { version, standby, fsync, commit, pages } = await ask<Record<string, string>>(`
    SELECT current_setting('server_version') AS version, pg_is_in_recovery()::text AS standby,
      current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
      current_setting('full_page_writes') AS pages`);
  findings.version(version!, oldestVersion);
  if (standby === 'true') {
    findings.fail('role', 'this is a standby', 'name the primary in TERSE_LINKS, the standby as ?replica=');
  } else findings.ok('role', 'primary');
  if (fsync === 'off' || pages === 'off') {
    const setting = fsync === 'off' ? 'fsync' : 'full_page_writes';
    findings.fail('durability', `${setting} is off: a power cut loses links`, `set ${setting} = on`);
  } else if (commit === 'off') {
    findings.ok('durability', 'synchronous_commit is off by default, and on for Terse');
  } else findings.ok('durability', `fsync is on, synchronous_commit is ${commit}`);
}

/** A table of its own, which needs the same rights as Terse's tables do, and is dropped afterwards. */
async function examineWriting(
  findings: Findings,
  ask: Ask,
  {
    clock,
    random,
    user,
    canUse,
    isCurrent,
  }: PostgresExamination & { user: string; canUse: boolean; isCurrent: boolean },
): Promise<void> {
  const table = `terse_doctor_${random.bytes(6).toHex()}`;
  try {
    await ask(`CREATE TABLE ${table} (word TEXT NOT NULL)`);
    try {
      const commitMs = await medianMs(clock, () => ask(`INSERT INTO ${table} (word) VALUES ('written')`));
      await ask(`DELETE FROM ${table}`);
      findings.ok('permissions', `can make tables and write; ${commitMs.toFixed(1)} ms for a durable row`);
    } finally {
      await ask(`DROP TABLE ${table}`);
    }
  } catch (error) {
    const isDenied = stateOf(error) === deniedState;
    // The rights that it lacks are reported already; with them it may not need this one.
    if (isDenied && !canUse) return;
    if (isDenied && isCurrent)
      findings.ok(
        'permissions',
        'can use the tables; `terse setup` by their owner makes those of later versions',
      );
    else {
      const fix = `run \`terse setup\` as the owner of the database, or ${grantAdvice(user)}`;
      findings.fail('permissions', messageOf(error), fix);
    }
  }
}

/** False when a table or sequence that exists cannot be used. */
async function examineRights(
  findings: Findings,
  ask: Ask,
  sets: readonly MigrationSet[],
  user: string,
): Promise<boolean> {
  const named = (kind: 'TABLE' | 'SEQUENCE'): string[] => {
    const pattern = new RegExp(`CREATE ${kind} (?:IF NOT EXISTS )?(\\w+)`, 'g');
    return sets.flatMap(({ steps }) =>
      steps.flatMap(step => [...step.matchAll(pattern)].map(([, name]) => name!)),
    );
  };
  const tables = [...new Set(['migrations', ...named('TABLE')])];
  const missing = [
    ...(await missingRights(
      ask,
      'table',
      tables.flatMap(name => rightsOn(name).map(verb => ({ name, verb }))),
    )),
    ...(await missingRights(
      ask,
      'sequence',
      named('SEQUENCE').map(name => ({ name, verb: 'USAGE' })),
    )),
  ];
  if (missing.length === 0) return true;
  const all = missing.map(({ name, verb }) => `${verb} on ${name}`).join(', ');
  const detail = `may not: ${all.length > shownMax ? `${all.slice(0, shownMax)}…` : all}`;
  findings.fail('permissions', detail, grantsOf(missing, user).join('; '));
  return false;
}

interface Right {
  readonly name: string;
  readonly verb: string;
}

interface MissingRight extends Right {
  readonly kind: 'table' | 'sequence';
}

/** Those that the role lacks, of what exists. */
async function missingRights(
  ask: Ask,
  kind: MissingRight['kind'],
  needs: readonly Right[],
): Promise<MissingRight[]> {
  if (needs.length === 0) return [];
  const rows = needs.map(({ name, verb }) => `('${name}', '${verb}')`).join(', ');
  const { missing } = await ask<{ missing: Right[] | null }>(`
    SELECT json_agg(json_build_object('name', name, 'verb', verb)) AS missing
    FROM (VALUES ${rows}) AS needs (name, verb)
    WHERE to_regclass(name) IS NOT NULL AND NOT has_${kind}_privilege(to_regclass(name), verb)`);
  return (missing ?? []).map(right => ({ ...right, kind }));
}

/** Only what is missing: more would undo what was revoked on purpose. */
function grantsOf(missing: readonly MissingRight[], user: string): string[] {
  const targets = [...Map.groupBy(missing, ({ name }) => name)].map(([name, rights]) => ({
    name: quotedName(name),
    what: `${rights.map(({ verb }) => verb).join(', ')} ON ${rights[0]!.kind.toUpperCase()}`,
  }));
  return [...Map.groupBy(targets, ({ what }) => what)].map(
    ([what, those]) => `GRANT ${what} ${those.map(({ name }) => name).join(', ')} TO ${quotedName(user)}`,
  );
}

const quotedName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** As docs/operations/postgres.md grants them. */
function rightsOn(table: string): readonly string[] {
  if (table === 'migrations') return ['SELECT'];
  return table === 'audit' ? ['SELECT', 'INSERT'] : ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];
}

/** True when this version of Terse needs no other tables than those that are there. */
async function examineSchema(findings: Findings, ask: Ask, sets: readonly MigrationSet[]): Promise<boolean> {
  const { there } = await ask<{ there: boolean }>("SELECT to_regclass('migrations') IS NOT NULL AS there");
  if (!there) {
    findings.ok('schema', 'the first start makes the tables');
    return false;
  }
  const { versions } = await ask<{ versions: Record<string, number> | null }>(
    'SELECT json_object_agg(component, version) AS versions FROM migrations',
  );
  const of = ({ component }: MigrationSet): number => versions?.[component] ?? 0;
  const newer = sets.find(set => of(set) > set.steps.length);
  const older = sets.filter(set => of(set) < set.steps.length);
  if (newer !== undefined) {
    const detail = `${newer.component} is version ${of(newer)}, this Terse knows ${newer.steps.length}`;
    findings.fail('schema', detail, 'run the version of Terse that wrote it, or a later one');
  } else if (older.length > 0) {
    findings.ok('schema', `the next start brings up to date: ${older.map(set => set.component).join(', ')}`);
  } else findings.ok('schema', 'up to date');
  const { broken } = await ask<{ broken: string | null }>(`
    SELECT string_agg(indexrelid::regclass::text, ', ') AS broken FROM pg_index
    JOIN pg_class ON pg_class.oid = indexrelid
    WHERE NOT indisvalid AND relnamespace = current_schema()::regnamespace`);
  if (broken === null) findings.ok('indexes', 'all of them are valid');
  else
    findings.fail('indexes', `not valid: ${broken}`, `REINDEX INDEX CONCURRENTLY ${broken.split(', ')[0]}`);
  return newer === undefined && older.length === 0;
}

async function examineConnections(
  findings: Findings,
  ask: Ask,
  { connectionsMax }: PostgresAddress,
  processes: number,
): Promise<void> {
  const { most, others } = await ask<{ most: number; others: number }>(`
    SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most,
      (SELECT count(*)::int FROM pg_stat_activity
       WHERE backend_type = 'client backend' AND application_name NOT LIKE 'terse%') AS others`);
  const wanted = connectionsMax * processes;
  const inUse = wanted + others;
  const shown = `${processes} × ${connectionsMax} wanted, ${most} allowed, ${others} in use by others`;
  const fix = 'raise max_connections, or lower ?pool= in TERSE_LINKS, or put a pooler in between';
  findings.judge('connections', inUse > most ? 'fail' : inUse <= most * fullShare, shown, fix);
}

async function examineReplica(findings: Findings, connectionString: string, askPrimary: Ask): Promise<void> {
  const place = new URL(connectionString).host;
  await withClient(findings, connectionString, `replica ${place}`, async ask => {
    const written = await askPrimary<{ lsn: string }>('SELECT pg_current_wal_lsn()::text AS lsn');
    const { standby, behind } = await ask<{ standby: boolean; behind: number | null }>(`
      SELECT pg_is_in_recovery() AS standby,
        (CASE WHEN pg_is_in_recovery() THEN '${written.lsn}'::pg_lsn - pg_last_wal_replay_lsn() END)::float8 AS behind`);
    if (!standby) {
      findings.warn('replica', `${place} is no standby`, 'take ?replica= out of TERSE_LINKS, or correct it');
    } else if ((behind ?? 0) > lagWarnBytes) {
      const fix = 'look at its load and its network; until it has caught up, redirects ask the primary';
      findings.warn('replica', `${place} is ${Math.round(behind! / 1_048_576)} MB behind`, fix);
    } else findings.ok('replica', `${place} is ${Math.max(0, Math.round((behind ?? 0) / 1_024))} kB behind`);
  });
}
