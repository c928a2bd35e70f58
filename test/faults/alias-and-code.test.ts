/**
 * A generated code and an alias never collide, even in a space of 3,844 codes that several processes fill together,
 * some by generating codes, some by requesting random aliases.
 */
import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { base62Alphabet, createCodeSpace } from '../../src/codes/code-space.ts';
import { announcedRandom } from '../kit/announced-random.ts';
import { rowsOf } from '../kit/database-file.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { temporaryFolder } from '../kit/terse-process.ts';
import {
  aliasPolicy,
  codeLength,
  type WorkerMessage,
  type WorkerOrder,
  type WorkerReport,
} from './code-space-worker.ts';

const generatorCount = 3;
const claimerCount = 3;
const roundCount = scaled(2, 20);
const letters = [...base62Alphabet];
const allowedCodes = letters
  .flatMap(first => letters.map(second => first + second))
  .filter(aliasPolicy.isAllowedCode);

interface SpaceWorker {
  begin(order: WorkerOrder): Promise<WorkerReport>;
  kill(): Promise<void>;
}

/** Resolves when the process waits for its order, so that several can begin together. */
async function startWorker(): Promise<SpaceWorker> {
  const ready = Promise.withResolvers<void>();
  const done = Promise.withResolvers<WorkerReport>();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'code-space-worker.ts')], {
    stdout: 'inherit',
    stderr: 'inherit',
    ipc: (message: WorkerMessage) => (message === 'ready' ? ready.resolve() : done.resolve(message)),
    onExit: () => done.reject(new Error('a worker ended without a report')),
  });
  // Callers that wait for a report get this error; a worker that never got an order has no report to send.
  done.promise.catch(() => {});
  await Promise.race([ready.promise, done.promise]);
  return {
    begin(order) {
      child.send(order);
      return done.promise;
    },
    async kill() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

const codesOf = (reports: readonly WorkerReport[]): string[] => reports.flatMap(({ codes }) => codes).sort();

function storedCodes(dataFolder: string, custom: 0 | 1): string[] {
  const query = `SELECT code FROM links WHERE custom = ${custom} ORDER BY code`;
  return rowsOf<{ code: string }>(dataFolder, query).map(({ code }) => code);
}

describe('in a space of two characters', () => {
  test(
    'processes that generate and processes that claim aliases share out every code, each to one link',
    async () => {
      const random = announcedRandom('alias and code');
      const tally = { generated: 0, aliases: 0, refused: 0 };
      for (let round = 0; round < roundCount; round += 1) {
        const dataFolder = temporaryFolder();
        const workers = await Promise.all(
          Array.from({ length: generatorCount + claimerCount }, () => startWorker()),
        );
        try {
          const reports = await Promise.all(
            workers.map((worker, index) =>
              worker.begin({
                role: index < generatorCount ? 'generate' : 'claim',
                dataFolder,
                seed: Math.floor(random.float() * 2 ** 31),
                holdAt: undefined,
              }),
            ),
          );
          const [generating, claiming] = [reports.slice(0, generatorCount), reports.slice(generatorCount)];
          const [generated, aliases] = [codesOf(generating), codesOf(claiming)];

          expectSafe(reports.map(({ leasedRefused }) => leasedRefused)).toEqual(reports.map(() => 0));
          expect(generated.length).toBeGreaterThan(0);
          expect(aliases.length).toBeGreaterThan(0);
          // Sorted lists: equal to all allowed codes means each of them once, none twice and none forgotten.
          expectSafe([...generated, ...aliases].sort()).toEqual(allowedCodes.toSorted());
          expectSafe(generated).toEqual(storedCodes(dataFolder, 0));
          expectSafe(aliases).toEqual(storedCodes(dataFolder, 1));
          for (const { problems } of generating) expect(problems.codes_exhausted).toBeGreaterThan(0);
          for (const { problems } of claiming) expect(problems.alias_taken).toBeGreaterThan(0);

          tally.generated += generated.length;
          tally.aliases += aliases.length;
          for (const { problems } of claiming) tally.refused += problems.alias_taken ?? 0;
        } finally {
          await Promise.all(workers.map(worker => worker.kill()));
          rmSync(dataFolder, { recursive: true, force: true });
        }
      }
      report(
        `${roundCount} spaces of ${allowedCodes.length} allowed codes: ${tally.generated} generated, ` +
          `${tally.aliases} aliases, ${tally.refused} aliases refused as taken, 0 leased codes refused`,
      );
    },
    heavyTestMaxMs,
  );

  test(
    'a process killed with a lease in hand takes its unused ids with it, and nothing else',
    async () => {
      const dataFolder = temporaryFolder();
      const [killed, survivor, claimer] = await Promise.all([startWorker(), startWorker(), startWorker()]);
      try {
        const holdAt = { links: 3, leases: 8 };
        const held = await killed.begin({ role: 'generate', dataFolder, seed: 7, holdAt });
        await killed.kill();
        const secret = rowsOf<{ value: Uint8Array }>(dataFolder, 'SELECT value FROM installation')[0]!.value;
        const space = createCodeSpace(secret, codeLength);
        const mark = rowsOf<{ mark: number }>(dataFolder, 'SELECT mark FROM ranges')[0]!.mark;
        const lost = Array.from({ length: mark }, (_, id) => space.encode(id)).filter(
          code => aliasPolicy.isAllowedCode(code) && !held.codes.includes(code),
        );
        expect(held).toMatchObject({ leases: holdAt.leases, leasedRefused: 0 });
        expect(held.codes.length).toBe(holdAt.links);
        expect(lost.length).toBeGreaterThan(0);

        const [after, claims] = await Promise.all([
          survivor.begin({ role: 'generate', dataFolder, seed: 8, holdAt: undefined }),
          claimer.begin({ role: 'claim', dataFolder, seed: 9, holdAt: undefined }),
        ]);
        const used = [...held.codes, ...after.codes, ...claims.codes].sort();
        expectSafe(used).toEqual(allowedCodes.filter(code => !lost.includes(code)).sort());
        expectSafe(after.leasedRefused).toBe(0);
        report(
          `killed with ${lost.length} leased codes in hand: the other ${used.length} were all given out`,
        );
      } finally {
        await Promise.all([killed, survivor, claimer].map(worker => worker.kill()));
        rmSync(dataFolder, { recursive: true, force: true });
      }
    },
    heavyTestMaxMs,
  );
});
