/**
 * Passwords, hashed with argon2id so that guessing those of a stolen database is slow. Hashing runs on threads of
 * the runtime, never on the one that serves requests, and one at a time in each process: a hash takes its memory and a
 * core for tens of milliseconds, which is also what a flood of sign-ins would try to spend. Everything that hashes
 * waits in one fair queue, so a flood delays itself and not the others.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { FairQueue, type Turn } from '../base/fair-queue.ts';
import type { Random } from '../base/random.ts';
import { newSecret } from './secrets.ts';

export const passwordLengthMin = 12;
export const passwordLengthMax = 128;

/** Each call is a turn in the queue, and fails with `overloaded` when it is rejected there. */
export interface Passwords {
  hash(password: string, turn: Turn): Promise<string>;
  /** False without a hash, after as much work as with one: timing does not reveal who has an account. */
  verify(password: string, hash: string | null, turn: Turn): Promise<boolean>;
  readonly waiting: number;
  /** How many were not hashed because too many waited, or because their client had disconnected. */
  readonly refused: number;
}

export interface PasswordCost {
  readonly memoryKiB: number;
  readonly passes: number;
  readonly concurrency: number;
  readonly waitingMax: number;
  readonly waitingPerLaneMax: number;
  readonly waitMaxMs: number;
}

/**
 * 19 MiB and two passes: the minimum that is considered safe, because any client can make us spend it. One at a time,
 * so that the thread that serves requests has a core of its own where there are two.
 */
const defaultPasswordCost: PasswordCost = {
  memoryKiB: 19_456,
  passes: 2,
  concurrency: 1,
  waitingMax: 64,
  waitingPerLaneMax: 2,
  waitMaxMs: 5_000,
};

export interface PasswordsOptions {
  readonly random: Random;
  readonly clock: Clock;
  readonly cost?: PasswordCost;
}

export function createPasswords({ random, clock, cost = defaultPasswordCost }: PasswordsOptions): Passwords {
  const queue = new FairQueue({ ...cost, clock, refusal: tooMany });
  let decoy: Promise<string> | undefined;
  const hashNow = (password: string): Promise<string> =>
    Bun.password.hash(composed(password), {
      algorithm: 'argon2id',
      memoryCost: cost.memoryKiB,
      timeCost: cost.passes,
    });

  return {
    get waiting() {
      return queue.waiting;
    },
    get refused() {
      return queue.refused;
    },
    hash: (password, turn) => queue.run(turn, () => hashNow(password)),
    verify: (password, stored, turn) =>
      queue.run(turn, async () => {
        decoy ??= hashNow(newSecret(random, 'decoy')).catch(error => {
          decoy = undefined;
          throw error;
        });
        // Awaited in any case, so that the very first attempt reveals nothing either.
        const decoyHash = await decoy;
        const matches = await Bun.password.verify(composed(password), stored ?? decoyHash, 'argon2id');
        return matches && stored !== null;
      }),
  };
}

const tooMany = (): Problem =>
  new Problem('overloaded', {
    detail: 'The server is busy checking passwords; try again in a few seconds.',
    headers: { 'Retry-After': '2' },
  });

/** The same characters, however the keyboard composed them. */
const composed = (password: string): string => password.normalize('NFC');
