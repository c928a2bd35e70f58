/**
 * The results of checks, and whose turn it is to check, as records: all processes of an installation share them.
 * `store.conformance.ts` defines the contract.
 */
import type { Clock } from '../base/clock.ts';
import { inParallel } from '../base/in-parallel.ts';
import type { Random } from '../base/random.ts';
import { createRecordChanges } from '../records/change-records.ts';
import { put, type RecordKind, type RecordStore } from '../records/record-store.ts';
import { type HealthRecord, type HealthStore, type WalkPosition, walkStart } from './health.ts';

export const linkHealthKind: RecordKind<HealthRecord & { readonly keptUntil: number }, never> = {
  name: 'link-health',
  key: ({ code }) => code,
  indexes: {},
  expiresAt: ({ keptUntil }) => keptUntil,
};

export interface Walk extends WalkPosition {
  readonly runner: string;
  readonly turnUntil: number;
}

const walkKey = 'all';

/** One record: where the walk over all links is, and who walks. */
export const healthWalkKind: RecordKind<Walk, never> = {
  name: 'link-health-walk',
  key: () => walkKey,
  indexes: {},
};

const recordsPerWrite = 10;
const writesAtOnce = 2;

export function createHealthStore(records: RecordStore, clock: Clock, random: Random): HealthStore {
  const changes = createRecordChanges(records, clock, random);
  const read = (codes: readonly string[]) => records.getMany(linkHealthKind, codes);
  const readWalk = () => records.get(healthWalkKind, walkKey);

  return {
    async find(codes) {
      return (await read(codes)).map(stored => stored && recordOf(stored.value));
    },
    async save(results, now, keepMs) {
      await inParallel(Math.ceil(results.length / recordsPerWrite), writesAtOnce, async part => {
        const some = results.slice(part * recordsPerWrite, (part + 1) * recordsPerWrite);
        await changes.run(`link health ${some[0]!.code}`, async () => {
          const before = await read(some.map(({ code }) => code));
          const writes = some.map((each, index) =>
            put(linkHealthKind, { ...each, keptUntil: now + keepMs }, before[index]),
          );
          return { answer: undefined, writes };
        });
      });
    },
    takeTurn: (runner, now, turnMs) =>
      changes.run<WalkPosition | undefined>('link health walk', async () => {
        const before = await readWalk();
        if (before !== undefined && before.value.runner !== runner && now < before.value.turnUntil) {
          return { answer: undefined };
        }
        const { roundAt, cursor } = before?.value ?? walkStart;
        const walk = { runner, turnUntil: now + turnMs, roundAt, cursor };
        return { answer: { roundAt, cursor }, writes: [put(healthWalkKind, walk, before)] };
      }),
    noteTurn: (runner, { roundAt, cursor }) =>
      changes.run('link health walk', async () => {
        const before = await readWalk();
        if (before?.value.runner !== runner) return { answer: false };
        return { answer: true, writes: [put(healthWalkKind, { ...before.value, roundAt, cursor }, before)] };
      }),
  };
}

const recordOf = ({ keptUntil: _keptUntil, ...record }: HealthRecord & { keptUntil: number }): HealthRecord =>
  record;
