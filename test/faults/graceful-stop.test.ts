/**
 * SIGTERM loses nothing. The proof compares both sides after the process has ended: everything acknowledged is in the
 * store, and everything in the store was acknowledged. A request that found the listener closed left no trace.
 */
import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { type Answer, callerOf } from '../kit/client.ts';
import { damageIn, databasePath, rowsOf } from '../kit/database-file.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { LiveView } from '../kit/live-view.ts';
import { RawConnection } from '../kit/raw-http.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { adminKey, startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';

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
    // From outside, a request in progress looks like one that has not arrived: give it time, and wait for the answer to
    // a later one.
    await Bun.sleep(500);
    await callerOf(terse.url)('GET', '/health/live');
    const exited = terse.stop();
    await Bun.sleep(200);
    lock.run('COMMIT');
    lock.close();

    const answers = await Promise.all(creates);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(await exited).toBe(0);
    const stored = storedCodes();
    const expected = [warm, ...answers].map(({ body }, number) => [body.shortCode, destinationOf(number)]);
    expectSafe([...stored].sort()).toEqual(expected.sort() as [string, string][]);
  },
  heavyTestMaxMs,
);

/** Clients that run until the listener is closed, and what they saw. */
class Load {
  readonly answered = new Map<string, string>();
  readonly faults: string[] = [];
  rejected = 0;
  visits = 0;
  #numbers = 0;

  async create(url: string): Promise<string | undefined> {
    this.#numbers += 1;
    const body = JSON.stringify({ longUrl: destinationOf(this.#numbers) });
    const headers = { Authorization: `Bearer ${adminKey}` };
    const answer = await this.#ask(`${url}/api/v1/links`, { method: 'POST', headers, body });
    if (answer?.status === 201) {
      const { shortCode, longUrl } = JSON.parse(answer.text);
      this.answered.set(shortCode, longUrl);
      return shortCode;
    }
    if (answer === undefined) this.rejected += 1;
    else this.faults.push(`create: ${answer.status} ${answer.text}`);
    return undefined;
  }

  async visit(url: string, code: string): Promise<boolean> {
    const answer = await this.#ask(`${url}/${code}`, { redirect: 'manual' });
    if (answer === undefined) return false;
    this.visits += 1;
    if (answer.status !== 302) this.faults.push(`visit: ${answer.status}`);
    return true;
  }

  /** Undefined when the listener was closed before an answer began; an answer that began must be complete. */
  async #ask(url: string, init: RequestInit): Promise<{ status: number; text: string } | undefined> {
    const response = await fetch(url, init).catch(() => undefined);
    if (response === undefined) return undefined;
    const text = await response.text().catch(error => {
      this.faults.push(`cut short: ${error}`);
      return '';
    });
    return { status: response.status, text };
  }
}

test(
  'a stop under load answers what it began, cuts no answer short, and ends with exit code 0',
  async () => {
    const load = new Load();
    for (let round = 0; round < roundCount; round += 1) {
      const terse = await startTerseProcess({ dataFolder });
      const code = (await load.create(terse.url))!;
      // A client that is connected and sends nothing must not hold up the stop.
      const idle = await Promise.all(Array.from({ length: 4 }, () => RawConnection.open(terse.url)));
      const creator = async (): Promise<void> => {
        while ((await load.create(terse.url)) !== undefined);
      };
      const visitor = async (): Promise<void> => {
        while (await load.visit(terse.url, code));
      };
      const clients = [
        ...Array.from({ length: creatorCount }, creator),
        ...Array.from({ length: visitorCount }, visitor),
      ];
      await Bun.sleep(loadMs);
      expect(await terse.stop()).toBe(0);
      await Promise.all(clients);
      for (const connection of idle) connection.abandon();
      expect(load.faults.slice(0, 10)).toEqual([]);
    }
    expectSafe([...storedCodes()].sort()).toEqual([...load.answered].sort());
    expectSafe(damageIn(dataFolder)).toEqual([]);
    report(
      `${roundCount} stops under load: ${load.answered.size} creates answered and stored, ${load.rejected} ` +
        `rejected without a trace, ${load.visits} visits, none cut short`,
    );
  },
  heavyTestMaxMs,
);

test(
  'who watches a link, or takes long over a request, does not hold up the stop',
  async () => {
    const terse = await startTerseProcess({ dataFolder });
    const { body } = await create(terse, 1);
    const view = await LiveView.open(terse.url, body.shortCode);
    // A live view ends at once; a request that is never completed is cut off after some seconds.
    const unfinished = await RawConnection.open(terse.url);
    unfinished.write('POST /api/v1/links HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{');
    await Bun.sleep(200);
    expect(await terse.stop()).toBe(0);
    await view.ended;
    unfinished.abandon();
    expectSafe(damageIn(dataFolder)).toEqual([]);
  },
  heavyTestMaxMs,
);

test(
  'a signal that comes twice at once counts once; a later one stops without waiting for any client',
  async () => {
    const once = await startTerseProcess({ dataFolder });
    const exited = once.stop();
    expect([await once.stop(), await exited]).toEqual([0, 0]);

    const terse = await startTerseProcess({ dataFolder });
    const unfinished = await RawConnection.open(terse.url);
    unfinished.write('POST /api/v1/links HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{');
    await Bun.sleep(200);
    const first = terse.stop();
    await Bun.sleep(1_000);
    expect([await terse.stop(), await first]).toEqual([1, 1]);
    unfinished.abandon();
  },
  heavyTestMaxMs,
);
