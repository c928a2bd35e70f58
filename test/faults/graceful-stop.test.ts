/**
 * SIGTERM loses nothing. The proof compares both sides after the process is gone: whatever was answered is in the
 * store, and whatever is in the store was answered. A request that found the door closed left no trace.
 */
import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { type Answer, callerOf } from '../kit/client.ts';
import { damageIn, databasePath, rowsOf } from '../kit/database-file.ts';
import { RawConnection } from '../kit/raw-http.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';

const roundCount = scaled(3, 50);
const creatorCount = 32;
const visitorCount = 8;
const inFlightCount = 50;
const loadMs = 300;

let dataFolder: string;

beforeEach(() => {
  dataFolder = temporaryFolder();
});

afterEach(() => {
  rmSync(dataFolder, { recursive: true, force: true });
});

const destinationOf = (number: number): string => `https://example.com/stopped/${number}`;

function create(terse: TerseProcess, number: number): Promise<Answer> {
  return callerOf(terse.url)('POST', '/api/v1/links', { body: { longUrl: destinationOf(number) } });
}

function storedCodes(): Map<string, string> {
  const rows = rowsOf<{ code: string; long_url: string }>(dataFolder, 'SELECT code, long_url FROM links');
  return new Map(rows.map(row => [row.code, row.long_url]));
}

test(
  'creates that wait for the store when the stop comes are made durable and answered',
  async () => {
    const terse = await startTerseProcess({ dataFolder });
    const warm = await create(terse, 0);
    const lock = new Database(databasePath(dataFolder));
    lock.run('PRAGMA busy_timeout = 5000');
    lock.run('BEGIN IMMEDIATE');
    const creates = Array.from({ length: inFlightCount }, (_, index) => create(terse, index + 1));
    // Seen from outside, a request that is being worked on looks like one still on its way; give it time.
    await Bun.sleep(500);
    const exited = terse.stop();
    await Bun.sleep(200);
    lock.run('COMMIT');
    lock.close();

    const answers = await Promise.all(creates);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(await exited).toBe(0);
    const stored = storedCodes();
    const expected = [warm, ...answers].map(({ body }, number) => [body.shortCode, destinationOf(number)]);
    expect([...stored].sort()).toEqual(expected.sort() as [string, string][]);
  },
  heavyTestMaxMs,
);

test(
  'a stop under load answers what it began, cuts no answer short, and ends with exit code 0',
  async () => {
    const answered = new Map<string, string>();
    const faults: string[] = [];
    let turnedAway = 0;
    let visits = 0;
    let numbers = 0;

    for (let round = 0; round < roundCount; round += 1) {
      const terse = await startTerseProcess({ dataFolder });
      const first = await create(terse, (numbers += 1));
      answered.set(first.body.shortCode, first.body.longUrl);
      // Somebody who is connected and says nothing must not hold up the stop.
      const idle = await Promise.all(Array.from({ length: 4 }, () => RawConnection.open(terse.url)));

      /** False when the door was closed before the answer began; an answer that began must end. */
      const attempt = async (
        path: string,
        init: RequestInit,
        use: (body: string, status: number) => void,
      ) => {
        let response: Response;
        try {
          response = await fetch(terse.url + path, { ...init, redirect: 'manual' });
        } catch {
          return false;
        }
        try {
          use(await response.text(), response.status);
        } catch (error) {
          faults.push(`cut short: ${error}`);
        }
        return true;
      };
      const creator = async (): Promise<void> => {
        for (let open = true; open; ) {
          numbers += 1;
          const body = JSON.stringify({ longUrl: destinationOf(numbers) });
          open = await attempt('/api/v1/links', { method: 'POST', body }, (text, status) => {
            if (status !== 201) faults.push(`create: ${status} ${text}`);
            else {
              const { shortCode, longUrl } = JSON.parse(text);
              answered.set(shortCode, longUrl);
            }
          });
          if (!open) turnedAway += 1;
        }
      };
      const visitor = async (): Promise<void> => {
        for (let open = true; open; ) {
          open = await attempt(`/${first.body.shortCode}`, {}, (_text, status) => {
            visits += 1;
            if (status !== 302) faults.push(`visit: ${status}`);
          });
        }
      };
      const everyone = [
        ...Array.from({ length: creatorCount }, creator),
        ...Array.from({ length: visitorCount }, visitor),
      ];
      await Bun.sleep(loadMs);
      expect(await terse.stop()).toBe(0);
      await Promise.all(everyone);
      for (const connection of idle) connection.abandon();
      expect(faults).toEqual([]);
    }

    expect([...storedCodes()].sort()).toEqual([...answered].sort());
    expect(damageIn(dataFolder)).toEqual([]);
    report(
      `${roundCount} stops under load: ${answered.size} creates answered and stored, ${turnedAway} turned away ` +
        `without a trace, ${visits} visits, none cut short`,
    );
  },
  heavyTestMaxMs,
);
