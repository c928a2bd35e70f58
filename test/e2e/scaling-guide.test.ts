/**
 * The walkthrough of docs/scaling.md on fresh engines: the commands of the page are run as they are printed, in their
 * order, and must print what the page says. Only addresses, ports and passwords are replaced, and the test prints how.
 *
 * A comment before a block says how a reader runs it: `run` it to its end, `serve` with it in a terminal of its own,
 * `repeat` it until it prints what it should. `restart` stands before a sentence instead of a block.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Admin } from '@platformatic/kafka';
import { Client } from 'pg';
import { familyOf } from '../../bench/kit/process-family.ts';
import { type ClickHouseEngine, startClickHouse } from '../kit/engines/clickhouse.ts';
import { describeWithEngine, type EngineName } from '../kit/engines/describe-with-engine.ts';
import { thingOf } from '../kit/engines/found.ts';
import { freeEnginePorts } from '../kit/engines/free-port.ts';
import { type KafkaEngine, startKafka } from '../kit/engines/kafka.ts';
import { type PostgresEngine, startPostgres } from '../kit/engines/postgres.ts';
import { findPostgres } from '../kit/engines/postgres-programs.ts';
import { type RedisEngine, startRedis } from '../kit/engines/redis.ts';
import { findRedis } from '../kit/engines/redis-programs.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs } from '../kit/scale.ts';
import { temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { isAlive } from '../kit/worker-processes.ts';

setDefaultTimeout(heavyTestMaxMs);

const root = join(import.meta.dir, '../..');
const page = readFileSync(join(root, 'docs/scaling.md'), 'utf8');
/** The part of the page with the walkthrough. */
const steps = page.slice(page.indexOf('\n## 3.'), page.indexOf('\n## 7.'));

interface Stage {
  readonly kind: string;
  readonly role: string | undefined;
  readonly commands: string;
}

const marker = /<!-- walk: (run|repeat|restart|serve)(?: (\w+))? -->\n(?:```sh\n(.*?)```)?/gs;
const stages: readonly Stage[] = Array.from(steps.matchAll(marker), ([, kind, role, commands = '']) => ({
  kind: kind!,
  role,
  commands,
}));

test('every command of steps 3 to 6 is part of the walkthrough', () => {
  const blocks = Array.from(steps.matchAll(/^```sh\n(.*?)```/gms), ([, commands]) => commands!);
  expect(blocks).toEqual(stages.filter(({ commands }) => commands !== '').map(({ commands }) => commands));
  expect(page.match(/<!-- walk:/g)).toHaveLength(stages.length);
});

const engines: readonly EngineName[] = ['postgres', 'redis', 'kafka', 'clickhouse'];
const describeWithAll = engines.reduceRight<() => void>(
  (inner, engine) => () => describeWithEngine(engine, `with ${engine}`, inner, { own: true }),
  walk,
);
const missing = ['sh', 'curl', 'openssl', 'node'].filter(tool => Bun.which(tool) === null);
if (missing.length > 0)
  test.skip(`the walkthrough (because this machine has no ${missing.join(' and no ')})`, () => {});
else describeWithAll();

function walk(): void {
  const folder = temporaryFolder();
  const terminals = new Map<string, Terminal>();
  let replaced: readonly (readonly [string, string])[] = [];
  let postgres: PostgresEngine | undefined;
  let redis: RedisEngine | undefined;
  let kafka: KafkaEngine | undefined;
  let clickHouse: ClickHouseEngine | undefined;

  beforeAll(async () => {
    [postgres, redis, kafka, clickHouse] = await Promise.all([
      startPostgres(),
      startRedis(),
      startKafka(),
      startClickHouse(),
    ]);
    await askForPasswords(postgres);
    symlinkSync(join(root, 'bin'), join(folder, 'bin'));
    bringTools(folder);
    const [redirect, api, worker] = freeEnginePorts(3) as [number, number, number];
    replaced = [
      ['db.example:5432', postgres.address],
      ['cache.example:6379', new URL(redis.url).host],
      ['kafka.example:9092', kafka.address],
      ['stats.example:8123', new URL(clickHouse.endpoint).host],
      ['127.0.0.1:8080', `127.0.0.1:${redirect}`],
      ['127.0.0.1:8081', `127.0.0.1:${api}`],
      ['PORT=8080', `PORT=${redirect}`],
      ['PORT=8081', `PORT=${api}`],
      ['PORT=8082', `PORT=${worker}`],
      ['postgres-password', crypto.randomUUID().replaceAll('-', '')],
      ['redis-password', crypto.randomUUID().replaceAll('-', '')],
    ];
    for (const [from, to] of replaced) report(`docs/scaling.md: ${from} is ${to} here`);
  });
  afterAll(async () => {
    for (const terminal of terminals.values()) await terminal.interrupt();
    await Promise.all([postgres?.stop(), redis?.stop(), kafka?.stop(), clickHouse?.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  const asHere = (text: string): string =>
    replaced.reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
  const environment = () => ({ PATH: `${folder}/tools:${process.env.PATH}`, HOME: folder });
  /** Ends at the first command that fails, as a reader would. */
  const shell = (commands: string): string[] => ['sh', '-e', '-c', asHere(commands)];
  const serve = async ({ role, commands }: Stage): Promise<void> => {
    const terminal = new Terminal(shell(commands), { cwd: folder, env: environment() });
    terminals.set(role!, terminal);
    await terminal.untilPrinted(asHere(commands));
  };
  const run = async (commands: string): Promise<string> => {
    const options = { cwd: folder, env: environment(), stdin: 'ignore', stderr: 'pipe' } as const;
    const child = Bun.spawn(shell(commands), options);
    const [out, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    if (code !== 0) throw new Error(`exit code ${code} of\n${asHere(commands)}\n${out}${errors}`);
    return out;
  };

  for (const [index, stage] of stages.entries()) {
    const { kind, role, commands } = stage;
    const command = commands.split('\n').find(line => !line.startsWith('set -a')) ?? '';
    test([`${index + 1}.`, kind, role, command].filter(Boolean).join(' '), async () => {
      if (kind === 'serve') return serve(stage);
      if (kind === 'restart') {
        for (const terminal of terminals.values()) await terminal.interrupt();
        for (const served of stages.filter(each => each.kind === 'serve')) await serve(served);
        return;
      }
      const here = asHere(commands);
      if (kind === 'run') expect(notPrinted(here, await run(commands))).toEqual([]);
      else await until(commands, async () => notPrinted(here, await run(commands)).length === 0);
    });
  }

  test('the topics exist, with the requested partitions', async () => {
    const admin = new Admin({ clientId: 'walk', bootstrapBrokers: [kafka!.address] });
    const { topics } = await admin.metadata({ topics: ['clicks', 'clicks-heads'] });
    await admin.close();
    expect(topics.get('clicks')?.partitionsCount).toBe(12);
    expect(topics.has('clicks-heads')).toBe(true);
  });

  /** Provides `psql` and `redis-cli` of the test engines under the names that the page uses. */
  function bringTools(into: string): void {
    const tools = join(into, 'tools');
    const { server, env } = thingOf(findRedis());
    const programs = {
      psql: Bun.which('psql') ?? join(dirname(thingOf(findPostgres()).server), 'psql'),
      'redis-cli': Bun.which('redis-cli') ?? join(dirname(server), 'redis-cli'),
    };
    mkdirSync(tools);
    for (const [name, program] of Object.entries(programs)) {
      const path = join(tools, name);
      const libraries = name === 'psql' ? '' : `LD_LIBRARY_PATH='${env.LD_LIBRARY_PATH ?? ''}' `;
      writeFileSync(path, `#!/bin/sh\n${libraries}exec '${program}' "$@"\n`);
      chmodSync(path, 0o755);
    }
  }
}

/** The comments of a block that its output lacks, in this order; `…` stands for anything within a line. */
function notPrinted(commands: string, output: string): string[] {
  let rest = output.replaceAll('\r', '');
  const comments = Array.from(commands.matchAll(/^# (.*)$/gm), ([, text]) => text!);
  return comments.filter(text => {
    const pattern = text
      .trim()
      .split('…')
      .map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*');
    const found = new RegExp(pattern).exec(rest);
    if (found !== null) rest = rest.slice(found.index + found[0].length);
    return found === null;
  });
}

/** Requires passwords of all users but `postgres`, the administrator of a fresh Postgres. */
async function askForPasswords({ url }: PostgresEngine): Promise<void> {
  const query = async (user: string, ...texts: readonly string[]): Promise<void> => {
    const address = new URL(url);
    address.username = user;
    const client = new Client({ connectionString: address.href });
    await client.connect();
    try {
      for (const text of texts) await client.query(text);
    } finally {
      await client.end();
    }
  };
  const name = new URL(url).username;
  await query(name, 'CREATE ROLE renaming SUPERUSER LOGIN');
  await query(
    'renaming',
    `ALTER ROLE ${name} RENAME TO postgres`,
    `DO $$ BEGIN EXECUTE format('COPY (VALUES (%L), (%L)) TO %L', 'host all postgres samehost trust',
       'host all all samehost scram-sha-256', current_setting('hba_file')); END $$`,
    'SELECT pg_reload_conf()',
  );
  await until('Postgres asks for passwords', () =>
    query('renaming').then(
      () => false,
      () => true,
    ),
  );
}

/** A terminal in which a reader runs one command and leaves it running. */
class Terminal {
  readonly #child: Bun.Subprocess;
  #printed = '';

  constructor(command: string[], options: { cwd: string; env: Record<string, string> }) {
    const decoder = new TextDecoder();
    const data = (_: unknown, chunk: Uint8Array): void => {
      this.#printed += decoder.decode(chunk, { stream: true });
    };
    this.#child = Bun.spawn(command, { ...options, terminal: { cols: 200, rows: 50, data } });
  }

  async untilPrinted(commands: string): Promise<void> {
    await until(`what is expected of\n${commands}`, () => {
      if (this.#child.exitCode !== null) throw new Error(`it ended:\n${commands}\n${this.#printed}`);
      return notPrinted(commands, this.#printed).length === 0;
    });
  }

  /** Ctrl-C. */
  async interrupt(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const family = familyOf(this.#child.pid);
    this.#child.terminal!.write('\x03');
    await until('the end of what was interrupted', () => !family.some(isAlive));
    this.#child.terminal!.close();
  }
}
