/**
 * The store runs but accepts no writes: another process holds its lock, or the disk is full. Creates wait or are
 * rejected cleanly; redirects do not notice.
 */
import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { callerOf } from '../kit/client.ts';
import { damageIn, databasePath, rowsOf } from '../kit/database-file.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { follow } from '../kit/follow.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';

const createCount = scaled(40, 400);
const lockedMs = 2_000;

let terse: TerseProcess;

beforeEach(async () => {
  // Rejected writes are expected here, so nothing is logged.
  terse = await startTerseProcess({ env: { TERSE_LOG_LEVEL: 'silent' } });
});

afterEach(async () => {
  await terse.stop();
});

const destinationOf = (number: number): string => `https://example.com/busy/${number}`;

/** Every fourth is an alias, so that both ways of getting a code are tried. */
function create(number: number) {
  const customAlias = number % 4 === 0 ? `busy-${number}` : undefined;
  return callerOf(terse.url)('POST', '/api/v1/links', {
    body: { longUrl: destinationOf(number), customAlias },
  });
}

function linkCount(): number {
  return rowsOf<{ count: number }>(terse.dataFolder, 'SELECT count(*) AS count FROM links')[0]!.count;
}

const numbers = Array.from({ length: createCount }, (_, index) => index + 1);

test(
  'while another process holds the write lock, creates wait and redirects are answered',
  async () => {
    const before = await create(0);
    const lock = new Database(databasePath(terse.dataFolder));
    lock.run('PRAGMA busy_timeout = 5000');
    lock.run('BEGIN IMMEDIATE');
    let answered = 0;
    const creates = numbers.map(async number => {
      const answer = await create(number);
      answered += 1;
      return answer;
    });
    const heldUntil = Bun.sleep(lockedMs).then(() => 'released');
    let visits = 0;
    while ((await Promise.race([heldUntil, Bun.sleep(5)])) !== 'released') {
      // The second was never created: its 404 does not need the writer either.
      expect((await follow(terse.url, before.body.shortCode)).status).toBe(302);
      expect((await follow(terse.url, 'busy-nobody')).status).toBe(404);
      visits += 2;
    }
    expect(answered).toBe(0);
    lock.run('COMMIT');
    lock.close();

    const answers = await Promise.all(creates);
    expect(answers.map(({ status }) => status)).toEqual(numbers.map(() => 201));
    for (const [index, { body }] of answers.entries()) {
      expect(await follow(terse.url, body.shortCode)).toEqual({
        status: 302,
        location: destinationOf(numbers[index]!),
      });
    }
    report(`write lock held for ${lockedMs} ms: ${createCount} creates waited, ${visits} visits answered`);
  },
  heavyTestMaxMs,
);

/** Files of the running process may not grow past this; undefined lifts the limit. */
function limitFileSize(maxBytes: number | undefined): void {
  const limit = `--fsize=${maxBytes ?? 'unlimited'}:`;
  const { exitCode, stderr } = Bun.spawnSync(['prlimit', '--pid', String(terse.pid), limit]);
  if (exitCode !== 0) throw new Error(`prlimit failed: ${stderr}`);
}

test.skipIf(Bun.which('prlimit') === null)(
  'a disk that takes no more refuses creates with 503, keeps nothing of them, and works again (needs prlimit)',
  async () => {
    const kept = await create(0);
    const countBefore = linkCount();
    limitFileSize(statSync(`${databasePath(terse.dataFolder)}-wal`).size);

    const refused = await Promise.all(numbers.map(create));
    for (const answer of refused) expectProblem(answer, 503, 'store_unavailable');
    const bulk = await callerOf(terse.url)('POST', '/api/v1/links/bulk', {
      body: { links: numbers.map(number => ({ longUrl: destinationOf(number) })) },
    });
    expectProblem(bulk, 503, 'store_unavailable');
    expect(await follow(terse.url, kept.body.shortCode)).toEqual({ status: 302, location: destinationOf(0) });
    expect((await follow(terse.url, 'busy-4')).status).toBe(404);
    expectSafe(linkCount()).toBe(countBefore);
    expectSafe(damageIn(terse.dataFolder)).toEqual([]);

    limitFileSize(undefined);
    const created = await Promise.all(numbers.map(create));
    expect(created.map(({ status }) => status)).toEqual(numbers.map(() => 201));
    expectSafe(linkCount()).toBe(countBefore + createCount);
    expectSafe(damageIn(terse.dataFolder)).toEqual([]);
    report(
      `disk full: ${createCount} creates refused with 503 and nothing kept, then ${createCount} created`,
    );
  },
  heavyTestMaxMs,
);
