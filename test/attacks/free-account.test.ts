/**
 * A free account uses all of its limits for an hour, with the largest and least compressible accepted values, on every
 * route that stores something. The clock is moved by hand, so that an hour takes only as long as its requests. The
 * small scale has a tenth of the limits.
 */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ManualClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { type Answer, type Call, callerOf } from '../kit/client.ts';
import { databasePath, rowsOf } from '../kit/database-file.ts';
import { accountOn } from '../kit/planned-account.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';

setDefaultTimeout(heavyTestMaxMs);

const minuteMs = 60_000;
const limits = scaled('free=10/h,freeChanges=240/day,signIn=1/min,report=2/h', 'default');
/** The maximum stored per unit of a limit, with indexes and half-empty pages; a large edit takes several units. */
const kilobytesPer = { create: 16, change: 2, signIn: 1, report: 8 } as const;
const kilobytesAtRest = 128;
/** In the first hour the bucket of a day is full; in the others a twenty-fourth of it comes back. */
const changeUnits = { first: scaled(250, 2_500), later: scaled(10, 100) } as const;

const random = seededRandom(17);
/** A random text of three-byte characters. */
const wideText = (length: number): string =>
  String.fromCharCode(
    ...Array.from({ length }, () => 0x4e00 + (random.bytes(2).reduce((a, b) => a * 64 + b, 0) % 0x4fff)),
  );
const longUrl = (): string => {
  const name = `https://example.com/${Buffer.from(random.bytes(1_600)).toString('base64url')}`;
  return name.slice(0, 2_048);
};
const largestLink = () => ({
  longUrl: longUrl(),
  title: wideText(300),
  tags: Array.from({ length: 20 }, () => wideText(50)),
});

let terse: TerseHere;
let call: Call;
let key: string;
const clock = new ManualClock(Date.now());
const accepted = new Map<string, number>();

beforeAll(async () => {
  terse = await startTerseHere({ env: { TERSE_LINKS: 'sqlite', TERSE_LIMITS: limits }, clock });
  call = callerOf(terse.url);
  key = (await accountOn(call, 'free')).key;
});
afterAll(() => terse.stop());

const codes: string[] = [];
const someCode = (): string => codes[random.bytes(1)[0]! % codes.length]!;
const as = (method: string, path: string, body?: unknown) =>
  call(method, path, { key, ...(body !== undefined && { body }) });

/** The routes that store something for a free account, by the limit that they draw from. */
const routes: Readonly<Record<string, readonly (() => Promise<Answer>)[]>> = {
  create: [
    async () => {
      const answer = await as('POST', '/api/v1/links', largestLink());
      if (answer.status === 201) codes.push(answer.body.shortCode);
      return answer;
    },
  ],
  change: [
    () => as('PATCH', `/api/v1/links/${someCode()}`, largestLink()),
    () => as('PUT', `/api/v1/links/${someCode()}`, largestLink()),
    () => as('PATCH', `/api/v1/links/${someCode()}`, { title: wideText(300) }),
    () => as('PATCH', '/api/v1/account', { name: wideText(100) }),
    () => as('DELETE', `/api/v1/links/${someCode()}/clicks`),
    async () => {
      const made = await as('POST', '/api/v1/keys', { name: wideText(100) });
      if (made.status === 201) await as('DELETE', `/api/v1/keys/${made.body.id}`);
      return made;
    },
    async () => {
      const { keyId } = (await as('GET', '/api/v1/account')).body;
      const rotated = await as('POST', `/api/v1/keys/${keyId}/rotate`, { overlapSeconds: 60 });
      if (rotated.status === 200) key = rotated.body.key;
      return rotated;
    },
  ],
  signIn: [() => call('POST', '/api/v1/session', { key: undefined, body: { key } })],
  report: [
    () => as('POST', '/api/v1/reports', { shortCode: someCode(), category: 'other', text: wideText(500) }),
  ],
};

/** Uses each limit until it rejects. */
async function spendAll(): Promise<void> {
  for (const [limit, ways] of Object.entries(routes)) {
    for (let turn = 0; ; turn += 1) {
      const answer = await ways[turn % ways.length]!();
      if (answer.status === 429) break;
      if (answer.status >= 300) throw new Error(`${limit}: ${answer.status} ${JSON.stringify(answer.body)}`);
      accepted.set(limit, (accepted.get(limit) ?? 0) + 1);
    }
  }
}

async function spendAnHour(): Promise<Map<string, number>> {
  accepted.clear();
  for (let minute = 0; minute < 60; minute += 1) {
    await spendAll();
    clock.advance(minuteMs);
  }
  return new Map(accepted);
}

/** The size of the databases after their write-ahead logs were merged. */
function storedBytes(): number {
  for (const entry of readdirSync(terse.dataFolder)) {
    if (!entry.endsWith('.db')) continue;
    const database = new Database(join(terse.dataFolder, entry));
    database.run('PRAGMA busy_timeout = 5000');
    database.query('PRAGMA wal_checkpoint(TRUNCATE)').all();
    database.close();
  }
  return readdirSync(terse.dataFolder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.name.endsWith('-shm'))
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

const shown = (bytes: number): string => `${(bytes / 1_048_576).toFixed(2)} MiB`;

test('a free account that uses up its limits adds no more bytes than its limits allow', async () => {
  const before = storedBytes();
  const first = await spendAnHour();
  const between = storedBytes();
  const second = await spendAnHour();
  const after = storedBytes();
  for (const [hour, spent, change, grown] of [
    ['first hour, with full buckets', first, changeUnits.first, between - before],
    ['each hour after it', second, changeUnits.later, after - between],
  ] as const) {
    const counts = [...spent].map(([limit, count]) => `${count} ${limit}`).join(', ');
    report(`${hour}: ${counts}; the data folder grew by ${shown(grown)}`);
    const units: Record<string, number> = { ...Object.fromEntries(spent), change };
    const allowed = Object.entries(kilobytesPer).map(([limit, kilobytes]) => units[limit]! * kilobytes);
    expect(spent.get('change')).toBeGreaterThan(0);
    expect(grown).toBeLessThan((kilobytesAtRest + allowed.reduce((a, b) => a + b, 0)) * 1_024);
  }
  const tables = rowsOf<{ name: string; bytes: number }>(
    terse.dataFolder,
    'SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name ORDER BY bytes DESC LIMIT 6',
  );
  report(`${databasePath('')}: ${tables.map(({ name, bytes }) => `${name} ${shown(bytes)}`).join(', ')}`);
});
