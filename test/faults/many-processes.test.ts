/**
 * Eight processes write into one data folder as fast as they can. Links are numbered; a link's number says who
 * created it and where it must lead, so nothing but the codes has to be remembered.
 */
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { violation } from '../../scripts/test-report.ts';
import { systemClock } from '../../src/base/clock.ts';
import { inParallel } from '../../src/base/in-parallel.ts';
import { type Call, callerOf } from '../kit/client.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { follow } from '../kit/follow.ts';
import { rateOf, report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';

const processCount = 8;
const linksTotal = scaled(40_000, 1_000_000);
const bulkSize = scaled(250, 1_000);
/** One link in this many is created by a call of its own. */
const singleEvery = 20;
/** One link in this many requests an alias; every second of those has the shape of a generated code. */
const aliasEvery = 40;
/** Small, so that the leases of all processes are close together and each process needs many. */
const rangeSize = scaled(250, 1_000);
const followersMax = 64;

const creatorOf = (number: number): number => number % processCount;
const destinationOf = (number: number): string => `https://example.com/many/${number}`;

function aliasOf(number: number): string | undefined {
  if (Math.floor(number / processCount) % aliasEvery !== 0) return undefined;
  const isShapedLikeCode = Math.floor(number / processCount / aliasEvery) % 2 === 0;
  return isShapedLikeCode ? String(1_000_000 + number) : `many-${number}`;
}

const isCodeShaped = (alias: string | undefined): boolean => /^\d{7}$/.test(alias ?? '');

class Ledger {
  readonly numberByCode = new Map<string, number>();
  readonly faults: string[] = [];
  aliases = 0;
  /** Aliases with the shape of a code that belongs to a lease: a lawful refusal, and a rare one. */
  refusedAliases = 0;

  note(number: number, status: number, body: { shortCode?: string; code?: string }): void {
    const alias = aliasOf(number);
    const { shortCode } = body;
    if (status === 409 && body.code === 'alias_taken' && isCodeShaped(alias)) this.refusedAliases += 1;
    else if (status !== 201 || shortCode === undefined) this.faults.push(`${number}: ${status} ${body.code}`);
    else if (this.numberByCode.has(shortCode))
      this.faults.unshift(`${violation} ${number}: ${shortCode} was given twice`);
    else if (alias !== undefined && shortCode !== alias) this.faults.push(`${number}: not its alias`);
    else {
      this.numberByCode.set(shortCode, number);
      if (alias !== undefined) this.aliases += 1;
    }
  }
}

const bodyOf = (number: number) => ({ longUrl: destinationOf(number), customAlias: aliasOf(number) });

async function createInBulk(call: Call, numbers: readonly number[], ledger: Ledger): Promise<void> {
  const answer = await call('POST', '/api/v1/links/bulk', { body: { links: numbers.map(bodyOf) } });
  if (answer.status !== 200) ledger.faults.push(`bulk: ${answer.status} ${JSON.stringify(answer.body)}`);
  else {
    for (const [index, { status, link, problem }] of answer.body.results.entries()) {
      ledger.note(numbers[index]!, status, link ?? problem);
    }
  }
}

async function createOne(call: Call, number: number, ledger: Ledger): Promise<void> {
  const answer = await call('POST', '/api/v1/links', { body: bodyOf(number) });
  ledger.note(number, answer.status, answer.body);
}

/** All that one process is asked to create: bulk calls and single ones side by side. */
async function createShare(call: Call, creator: number, ledger: Ledger): Promise<void> {
  const numbers = Array.from(
    { length: linksTotal / processCount },
    (_, index) => index * processCount + creator,
  );
  const singles = numbers.filter((_, index) => index % singleEvery === 1);
  const bulk = numbers.filter((_, index) => index % singleEvery !== 1);
  const calls = Array.from({ length: Math.ceil(bulk.length / bulkSize) }, (_, index) =>
    bulk.slice(index * bulkSize, (index + 1) * bulkSize),
  );
  await Promise.all([
    inParallel(calls.length, 2, index => createInBulk(call, calls[index]!, ledger)),
    inParallel(singles.length, 4, index => createOne(call, singles[index]!, ledger)),
  ]);
}

test(
  'eight processes on one data folder never give a code twice, and each link resolves through another process',
  async () => {
    const dataFolder = temporaryFolder();
    const env = { TERSE_RANGE_SIZE: String(rangeSize) };
    // All at once on an empty folder, which one of them sets up.
    const processes = await Promise.all(
      Array.from({ length: processCount }, () => startTerseProcess({ dataFolder, env })),
    );
    try {
      const ledger = new Ledger();
      const startedMs = systemClock.monotonicMs();
      await Promise.all(processes.map(({ url }, creator) => createShare(callerOf(url), creator, ledger)));
      const createdMs = systemClock.monotonicMs();
      expect(ledger.faults.slice(0, 10)).toEqual([]);
      expect(ledger.numberByCode.size + ledger.refusedAliases).toBe(linksTotal);

      const lost: string[] = [];
      const codes = [...ledger.numberByCode];
      await inParallel(codes.length, followersMax, async index => {
        const [code, number] = codes[index]!;
        const another = (creatorOf(number) + 1 + (index % (processCount - 1))) % processCount;
        const { status, location } = await follow(processes[another]!.url, code);
        if (status !== 302 || location !== destinationOf(number)) lost.push(`${code}: ${status} ${location}`);
      });
      const followedMs = systemClock.monotonicMs();
      expectSafe(lost.slice(0, 10)).toEqual([]);

      report(
        `${processCount} processes: created ${rateOf(codes.length, createdMs - startedMs)}, of them ` +
          `${ledger.aliases} aliases, ${ledger.refusedAliases} more refused; all codes distinct, ` +
          `each followed through another process ${rateOf(codes.length, followedMs - createdMs)}, 0 lost`,
      );
    } finally {
      await Promise.all(processes.map(each => each.stop()));
      rmSync(dataFolder, { recursive: true, force: true });
    }
  },
  heavyTestMaxMs,
);
