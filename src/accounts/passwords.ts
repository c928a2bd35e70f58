/**
 * Passwords, hashed with argon2id so that a stolen database has to be guessed at slowly. Hashing runs on threads of
 * the runtime, never on the one that serves requests, and only a few at a time: each takes its memory and a core for
 * tens of milliseconds, which is also what a flood of sign-ins would try to spend.
 */
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { newSecret } from './secrets.ts';

export const passwordLengthMin = 12;
export const passwordLengthMax = 128;

export interface Passwords {
  hash(password: string): Promise<string>;
  /** Without a hash the answer is no, after as much work as with one: time does not tell who has an account. */
  verify(password: string, hash: string | null): Promise<boolean>;
}

export interface PasswordCost {
  readonly memoryKiB: number;
  readonly passes: number;
  /** Hashed at the same time. */
  readonly atOnceMax: number;
  /** Waiting for their turn; past it whoever comes is told to come again. */
  readonly waitingMax: number;
}

/** 19 MiB and two passes: the least that is held to be safe, because it is spent for strangers. */
const defaultCost: PasswordCost = { memoryKiB: 19_456, passes: 2, atOnceMax: 2, waitingMax: 64 };

export function createPasswords(random: Random, cost: PasswordCost = defaultCost): Passwords {
  let running = 0;
  const waiting: (() => void)[] = [];
  let decoy: Promise<string> | undefined;

  const inTurn = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (running >= cost.atOnceMax) {
      if (waiting.length >= cost.waitingMax) {
        throw new Problem('overloaded', {
          detail: 'Too many passwords are being checked.',
          headers: { 'Retry-After': '1' },
        });
      }
      // Whoever finishes hands over its turn, so that nobody slips in between.
      await new Promise<void>(resolve => waiting.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
  const hash = (password: string): Promise<string> =>
    inTurn(() =>
      Bun.password.hash(typed(password), {
        algorithm: 'argon2id',
        memoryCost: cost.memoryKiB,
        timeCost: cost.passes,
      }),
    );

  return {
    hash,
    async verify(password, stored) {
      decoy ??= hash(newSecret(random, 'decoy')).catch(error => {
        decoy = undefined;
        throw error;
      });
      // Waited for in any case, so that the first attempt of all tells nothing either.
      const decoyHash = await decoy;
      const compared = stored ?? decoyHash;
      const matches = await inTurn(() => Bun.password.verify(typed(password), compared, 'argon2id'));
      return matches && stored !== null;
    },
  };
}

/** The same characters, however the keyboard composed them. */
const typed = (password: string): string => password.normalize('NFC');
