/**
 * A code that was never issued costs no read, and yet a code that another process issued a moment ago is known at once.
 * Two processes on one data folder; links created `here` are requested `there`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { inParallel } from '../../src/base/in-parallel.ts';
import { base62Alphabet } from '../../src/codes/code-space.ts';
import { announcedRandom } from '../kit/announced-random.ts';
import { type Call, callerOf } from '../kit/client.ts';
import { follow, metricOf } from '../kit/follow.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';

const guessCount = scaled(5_000, 100_000);
const createCount = scaled(500, 10_000);
const aliasCount = scaled(100, 2_000);
const guessersMax = 32;

const dataFolder = temporaryFolder();
const random = announcedRandom('never issued');
let here: TerseProcess;
let there: TerseProcess;
let call: Call;

beforeAll(async () => {
  [here, there] = await Promise.all([startTerseProcess({ dataFolder }), startTerseProcess({ dataFolder })]);
  call = callerOf(here.url);
});

afterAll(async () => {
  await Promise.all([here.stop(), there.stop()]);
  rmSync(dataFolder, { recursive: true, force: true });
});

/** Seven characters of base62. In a space of 3.5 trillion, hitting a leased one is out of the question. */
function codeShaped(): string {
  return Array.from({ length: 7 }, () => base62Alphabet[Math.floor(random.float() * 62)]).join('');
}

async function create(longUrl: string, customAlias?: string): Promise<string> {
  const { status, body } = await call('POST', '/api/v1/links', { body: { longUrl, customAlias } });
  if (status !== 201) throw new Error(`creating failed: ${status} ${JSON.stringify(body)}`);
  return body.shortCode;
}

describe('with two processes on one data folder', () => {
  test(
    'codes that were never issued answer 404 without a read of the store',
    async () => {
      const issued = await create('https://example.com/issued');
      const before = await metricOf(there.url, 'terse_store_reads_total');
      const shortcutsBefore = await metricOf(there.url, 'terse_never_issued_total');
      const statuses = new Map<number, number>();
      await inParallel(guessCount, guessersMax, async () => {
        const { status } = await follow(there.url, codeShaped());
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      });
      expect([...statuses]).toEqual([[404, guessCount]]);
      expect(await metricOf(there.url, 'terse_store_reads_total')).toBe(before);
      expect(await metricOf(there.url, 'terse_never_issued_total')).toBe(shortcutsBefore + guessCount);
      // The counter is alive: a link that does exist moves it.
      expect((await follow(there.url, issued)).status).toBe(302);
      expect(await metricOf(there.url, 'terse_store_reads_total')).toBe(before + 1);
      report(`${guessCount} guesses answered 404 with 0 store reads`);
    },
    heavyTestMaxMs,
  );

  test(
    'a code created through one process resolves through the other at once, every time',
    async () => {
      for (let number = 0; number < createCount; number += 1) {
        const longUrl = `https://example.com/at-once/${number}`;
        expect(await follow(there.url, await create(longUrl))).toEqual({ status: 302, location: longUrl });
      }
      report(`${createCount} codes resolved through the other process at once`);
    },
    heavyTestMaxMs,
  );

  test.each([
    ['an alias with the shape of a generated code', codeShaped],
    ['any other alias', () => `plain-${codeShaped()}`],
  ])(
    '%s resolves through the other process at once, also where it was just missing',
    async (_kind, nextAlias) => {
      for (let number = 0; number < aliasCount; number += 1) {
        const alias = nextAlias();
        const longUrl = `https://example.com/alias/${alias}`;
        // Half of them are requested first, so that their absence is cached there.
        if (number % 2 === 0) expect((await follow(there.url, alias)).status).toBe(404);
        await create(longUrl, alias);
        expect(await follow(there.url, alias)).toEqual({ status: 302, location: longUrl });
      }
    },
    heavyTestMaxMs,
  );
});
