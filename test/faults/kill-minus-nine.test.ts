/**
 * A process is killed at random moments while 64 creators keep it busy, and started again on the same data. Every link
 * with a 201 must exist, whatever the process was doing when it died. A failing run names its seed.
 */
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import { inParallel } from '../../src/base/in-parallel.ts';
import type { Random } from '../../src/base/random.ts';
import { announcedRandom } from '../kit/announced-random.ts';
import { type Answer, callerOf } from '../kit/client.ts';
import { damageIn, rowsOf } from '../kit/database-file.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { follow } from '../kit/follow.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';

const roundCount = scaled(6, 100);
const creatorCount = 64;
const killAfterMinMs = 20;
const killAfterMaxMs = 600;
/** Codes of a round that a client then tries to take as an alias. */
const reclaimsPerRound = 16;

interface Wish {
  readonly kind: 'generated' | 'alias' | 'keyed';
  readonly number: number;
}

interface Kept {
  readonly wish: Wish;
  readonly code: string;
}

const destinationOf = ({ number }: Wish): string => `https://example.com/killed/${number}`;

function create(url: string, wish: Wish): Promise<Answer> {
  return callerOf(url)('POST', '/api/v1/links', {
    body: {
      longUrl: destinationOf(wish),
      ...(wish.kind === 'alias' && { customAlias: `killed-${wish.number}` }),
    },
    ...(wish.kind === 'keyed' && { headers: { 'Idempotency-Key': `killed-${wish.number}` } }),
  });
}

class Ledger {
  readonly kept: Kept[] = [];
  readonly codes = new Set<string>();
  readonly faults: string[] = [];
  unanswered = 0;
  repeated = 0;
  #numbers = 0;

  wish(random: Random): Wish {
    const kinds = ['generated', 'generated', 'alias', 'keyed'] as const;
    this.#numbers += 1;
    return { kind: kinds[Math.floor(random.float() * kinds.length)]!, number: this.#numbers };
  }

  note(wish: Wish, { status, body }: Answer): void {
    if (status !== 201) this.faults.push(`${wish.kind} ${wish.number}: ${status} ${body.code}`);
    else if (this.codes.has(body.shortCode)) this.faults.push(`${body.shortCode} was issued again`);
    else {
      this.codes.add(body.shortCode);
      this.kept.push({ wish, code: body.shortCode });
    }
  }
}

/** Creators that run until the process is killed; returns the creates that never got an answer. */
async function createUntilKilled(terse: TerseProcess, ledger: Ledger, random: Random): Promise<Wish[]> {
  const unanswered: Wish[] = [];
  const creator = async (): Promise<void> => {
    for (;;) {
      const wish = ledger.wish(random);
      let answer: Answer;
      try {
        answer = await create(terse.url, wish);
      } catch {
        unanswered.push(wish);
        return;
      }
      ledger.note(wish, answer);
    }
  };
  const creators = Array.from({ length: creatorCount }, creator);
  await Bun.sleep(killAfterMinMs + random.float() * (killAfterMaxMs - killAfterMinMs));
  await terse.kill();
  await Promise.all(creators);
  return unanswered;
}

async function followAll(url: string, links: readonly Kept[]): Promise<string[]> {
  const lost: string[] = [];
  await inParallel(links.length, creatorCount, async index => {
    const { code, wish } = links[index]!;
    const { status, location } = await follow(url, code);
    if (status !== 302 || location !== destinationOf(wish)) lost.push(`${code}: ${status} ${location}`);
  });
  return lost.slice(0, 10);
}

/** Each unanswered create is repeated with the same key, twice; both answers must name one link. */
async function repeatUnanswered(url: string, wishes: readonly Wish[], ledger: Ledger): Promise<void> {
  await inParallel(wishes.length, creatorCount, async index => {
    const wish = wishes[index]!;
    const first = await create(url, wish);
    const second = await create(url, wish);
    ledger.note(wish, first);
    if (second.body.shortCode !== first.body.shortCode) ledger.faults.push(`${wish.number} was made twice`);
    ledger.repeated += 1;
  });
}

async function reclaim(url: string, links: readonly Kept[], ledger: Ledger): Promise<void> {
  for (const { code } of links) {
    const body = { longUrl: 'https://example.com/thief', customAlias: code };
    const { status } = await callerOf(url)('POST', '/api/v1/links', { body });
    if (status !== 409) ledger.faults.push(`${code} could be taken as an alias: ${status}`);
  }
}

test(
  'whatever got a 201 survives kill -9, no code is issued again, and a repeated request makes one link',
  async () => {
    const random = announcedRandom('kill -9');
    const dataFolder = temporaryFolder();
    const ledger = new Ledger();
    const startedMs = systemClock.monotonicMs();
    let terse = await startTerseProcess({ dataFolder });
    try {
      for (let round = 0; round < roundCount; round += 1) {
        const keptBefore = ledger.kept.length;
        const unanswered = await createUntilKilled(terse, ledger, random);
        ledger.unanswered += unanswered.length;
        terse = await startTerseProcess({ dataFolder });

        const ofRound = ledger.kept.slice(keptBefore);
        expectSafe(await followAll(terse.url, ofRound)).toEqual([]);
        await reclaim(terse.url, ofRound.slice(0, reclaimsPerRound), ledger);
        const keyed = unanswered.filter(({ kind }) => kind === 'keyed');
        await repeatUnanswered(terse.url, keyed, ledger);
        // A request that was answered before the kill is answered the same after it.
        for (const { wish, code } of ofRound.filter(each => each.wish.kind === 'keyed').slice(0, 4)) {
          expectSafe((await create(terse.url, wish)).body.shortCode).toBe(code);
        }
        expectSafe(ledger.faults.slice(0, 10)).toEqual([]);
      }
      expectSafe(await followAll(terse.url, ledger.kept)).toEqual([]);
      expectSafe(damageIn(dataFolder)).toEqual([]);
      const stored = rowsOf<{ count: number }>(dataFolder, 'SELECT count(*) AS count FROM links')[0]!.count;
      expectSafe(stored).toBeGreaterThanOrEqual(ledger.kept.length);
      expectSafe(stored).toBeLessThanOrEqual(ledger.kept.length + ledger.unanswered - ledger.repeated);
      expect(ledger.kept.length).toBeGreaterThan(0);
    } finally {
      await terse.kill();
      rmSync(dataFolder, { recursive: true, force: true });
    }
    report(
      `${roundCount} kills in ${Math.round((systemClock.monotonicMs() - startedMs) / 1_000)} s: ` +
        `${ledger.kept.length} links with a 201, 0 lost, 0 codes issued again; ${ledger.unanswered} requests ` +
        `without an answer, ${ledger.repeated} of them keyed and repeated, 0 doubles`,
    );
  },
  heavyTestMaxMs,
);
