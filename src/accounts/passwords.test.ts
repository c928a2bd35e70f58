import { describe, expect, test } from 'bun:test';
import { systemClock, yieldToEventLoop } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { cheapPasswords, fakeTurn } from './fake-actors.ts';
import { createPasswords, type PasswordCost, type Passwords } from './passwords.ts';

const cheap: PasswordCost = { ...cheapPasswords, waitingMax: 3 };
const options = { random: seededRandom(1), clock: systemClock };

/** Turns of one client after another. */
function created(cost?: PasswordCost) {
  const passwords: Passwords = createPasswords({ ...options, ...(cost !== undefined && { cost }) });
  return {
    hash: (password: string) => passwords.hash(password, fakeTurn()),
    verify: (password: string, hash: string | null) => passwords.verify(password, hash, fakeTurn()),
  };
}
const passwords = created(cheap);

describe('passwords', () => {
  test('are kept as argon2id, never the same twice', async () => {
    const [one, two] = await Promise.all([
      passwords.hash('a good password'),
      passwords.hash('a good password'),
    ]);
    expect(one).toStartWith('$argon2id$');
    expect(one).not.toBe(two);
    expect(one).not.toContain('good');
  });

  test('have a default cost that is considered safe', async () => {
    expect(await created().hash('a good password')).toContain('$m=19456,t=2,p=1$');
  });

  test('are hashed in parallel with requests, which continue meanwhile', async () => {
    let turns = 0;
    let working = true;
    const takeTurns = (): void => {
      turns += 1;
      if (working) setImmediate(takeTurns);
    };
    setImmediate(takeTurns);
    await created().hash('a good password');
    working = false;
    expect(turns).toBeGreaterThan(5);
  });

  test('match exactly, however their letters were composed', async () => {
    const hash = await passwords.hash('caf\u00e9 au lait');
    expect(await passwords.verify('cafe\u0301 au lait', hash)).toBe(true);
    for (const wrong of ['cafe au lait', 'CAF\u00c9 AU LAIT', 'caf\u00e9 au lait ', '', 'x'.repeat(10_000)]) {
      expect(await passwords.verify(wrong, hash)).toBe(false);
    }
  });

  test('match nothing where no password is set, after the same work', async () => {
    expect(await passwords.verify('anything at all', null)).toBe(false);
    const verified: string[] = [];
    const { verify } = Bun.password;
    Bun.password.verify = async (password, hash, algorithm) => {
      verified.push(String(hash).split('$').slice(0, 4).join('$'));
      return verify(password, hash, algorithm);
    };
    try {
      await passwords.verify('anything at all', null);
      await passwords.verify('anything at all', await passwords.hash('a good password'));
    } finally {
      Bun.password.verify = verify;
    }
    expect(verified).toEqual(['$argon2id$v=19$m=64,t=1,p=1', '$argon2id$v=19$m=64,t=1,p=1']);
  });

  test('are hashed a few at a time; a client that finds the queue full is asked to retry', async () => {
    const { hash } = Bun.password;
    let running = 0;
    let mostAtOnce = 0;
    Bun.password.hash = async (...given) => {
      running += 1;
      mostAtOnce = Math.max(mostAtOnce, running);
      await yieldToEventLoop();
      running -= 1;
      return hash(...given);
    };
    try {
      const attempts = await Promise.allSettled(
        Array.from({ length: 8 }, () => passwords.hash('a good password')),
      );
      const refused = attempts.filter(({ status }) => status === 'rejected');
      expect(mostAtOnce).toBe(cheap.concurrency);
      expect(refused).toHaveLength(8 - cheap.concurrency - cheap.waitingMax);
      for (const { reason } of refused as PromiseRejectedResult[]) {
        expect(reason).toMatchObject({ code: 'overloaded', headers: { 'Retry-After': '2' } });
      }
      const next = await Promise.all(Array.from({ length: 5 }, () => passwords.hash('a good password')));
      expect(next).toHaveLength(5);
    } finally {
      Bun.password.hash = hash;
    }
  });

  test('release their turn even when hashing fails', async () => {
    const small = created({ ...cheap, concurrency: 1, waitingMax: 0 });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await expect(small.verify('a good password', 'not a hash')).rejects.toThrow();
    }
    expect(await small.hash('a good password')).toStartWith('$argon2id$');
  });
});
