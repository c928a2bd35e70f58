/**
 * An installation moves from one store to another while clients keep creating, editing and deleting links, and the
 * migration is killed twice. When they pause and it is finished, both sides are equal by count and checksum, and on the
 * target every link does what its owner's last answer said.
 */
import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import type { Random } from '../../src/base/random.ts';
import { announcedRandom } from '../kit/announced-random.ts';
import { ChangingLinks } from '../kit/changing-links.ts';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedDynamo } from '../kit/engines/dynamodb.ts';
import { sharedPostgres } from '../kit/engines/postgres.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { startMigrate } from '../kit/migrate-process.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';

const linkCount = scaled(1_200, 1_000_000);
const followedMax = scaled(500, 50_000);
const clientCount = scaled(2, 4);
const pauseMs = scaled(50, 100);
/** Slow enough that a kill comes before the end, in records a second. */
const rate = scaled(600, 40_000);
const killAfterMaxMs = scaled(900, 9_000);

/** The store of an installation, as the server and the command line name it. */
interface Store {
  readonly name: string;
  readonly dataFolder: string;
  readonly links: string;
  readonly address: string;
}

const folders: string[] = [];
function folder(): string {
  const path = temporaryFolder();
  folders.push(path);
  return path;
}

const sqliteStore = (): Store => {
  const dataFolder = folder();
  return { name: 'SQLite', dataFolder, links: 'sqlite', address: `sqlite:${dataFolder}` };
};
const serverStore = (name: string, url: string): Store => ({
  name,
  dataFolder: folder(),
  links: url,
  address: url,
});

const start = (store: Store, adminKey?: string): Promise<TerseProcess> =>
  startTerseProcess({
    dataFolder: store.dataFolder,
    env: { TERSE_LINKS: store.links, ...(adminKey === undefined ? {} : { TERSE_ADMIN_KEY: undefined }) },
  });

/** Moves everything, and returns the server that runs on the target. */
async function move(
  from: Store,
  to: Store,
  source: TerseProcess,
  links: ChangingLinks,
  random: Random,
): Promise<void> {
  const startedMs = systemClock.monotonicMs();
  links.start(source.url, clientCount, pauseMs);
  for (let kill = 0; kill < 2; kill += 1) {
    const run = startMigrate(from.address, to.address, '--rate', String(rate));
    await run.until(/^(?:Copying|Going on) from .+$/m);
    await Bun.sleep(killAfterMaxMs * (0.3 + random.float() * 0.7));
    await run.kill();
    expect((await run.ended).output).not.toContain('The target follows');
  }
  const following = await startMigrate(from.address, to.address).ended;
  expect(following.output).toContain('Going on from');
  expect(following.output).toContain('The target follows the source');
  expect(following.exitCode).toBe(0);
  await links.stop();
  await source.stop();
  const quietMs = systemClock.monotonicMs();
  const final = await startMigrate(from.address, to.address, '--final').ended;
  expect(final.output).toContain('Verified');
  expect(final.exitCode).toBe(0);
  const [, counted, sum] = /^links +([\d,]+) ([0-9a-f]+) +\1 \2 +equal$/m.exec(final.output) ?? [];
  expect(Number(counted?.replaceAll(',', ''))).toBeGreaterThanOrEqual(links.known.size);
  const seconds = (ms: number): number => Math.round(ms / 1_000);
  report(
    `${from.name} → ${to.name}: ${counted} links (${sum}), ${links.changes} changes in all, killed twice, ` +
      `${seconds(quietMs - startedMs)} s in use, ${seconds(systemClock.monotonicMs() - quietMs)} s to finish`,
  );
}

/** Checks links and a key of the source on the target, then new links, whose codes were never issued before. */
async function checkTarget(target: TerseProcess, links: ChangingLinks, key: string): Promise<void> {
  expectSafe(await links.lostAt(target.url, followedMax)).toEqual([]);
  const { status, body } = await callerOf(target.url)('GET', '/api/v1/links?limit=1', { key });
  expect({ status, listed: body.links?.length }).toEqual({ status: 200, listed: 1 });
  for (let made = 0; made < 50; made += 1) await links.makeAnother(target.url, key);
  expect(links.faults).toEqual([]);
}

async function makeKey({ url }: TerseProcess): Promise<string> {
  const { status, body } = await callerOf(url)('POST', '/api/v1/keys', { body: { name: 'moved' } });
  expect(status).toBe(201);
  return body.key;
}

/** A client keeps using the source by mistake: its links are lost, but the target issues none of their codes. */
async function checkLeftBehind(from: Store, links: ChangingLinks): Promise<void> {
  const terse = await start(from);
  for (let made = 0; made < 50; made += 1) await links.makeAnother(terse.url);
  await terse.kill();
  expect(links.faults).toEqual([]);
}

async function moveAlong(stores: readonly Store[]): Promise<void> {
  const random = announcedRandom('migration');
  const links = new ChangingLinks(random);
  let terse = await start(stores[0]!);
  try {
    const key = await makeKey(terse);
    await links.fill(terse.url, linkCount);
    for (const [index, to] of stores.entries()) {
      const from = stores[index - 1];
      if (from === undefined) continue;
      await move(from, to, terse, links, random);
      terse = await start(to, key);
      await checkTarget(terse, links, key);
    }
    await checkLeftBehind(stores[0]!, links);
  } finally {
    await terse.kill();
    for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
  }
}

describe('a migration under load, killed twice', () => {
  test(
    'from one data folder to another loses nothing',
    () => moveAlong([sqliteStore(), sqliteStore()]),
    heavyTestMaxMs,
  );
});

describeWithEngine('postgres', 'a migration under load, killed twice', () => {
  describeWithEngine('dynamodb', 'on its way through all engines', () => {
    test(
      'from SQLite to Postgres and on to DynamoDB loses nothing',
      async () => {
        const postgres = serverStore('Postgres', await (await sharedPostgres()).freshDatabase());
        const dynamo = serverStore('DynamoDB', (await sharedDynamo()).freshTableUrl());
        await moveAlong([sqliteStore(), postgres, dynamo]);
      },
      2 * heavyTestMaxMs,
    );
  });
});
