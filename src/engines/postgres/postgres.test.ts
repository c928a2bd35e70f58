import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../../../test/kit/engines/postgres.ts';
import { systemClock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { isUniqueViolation } from './failures.ts';
import { openPostgres, type Postgres } from './postgres.ts';

async function failureOf(run: Promise<unknown>): Promise<unknown> {
  return run.then(
    () => 'no failure',
    error => (error instanceof Problem ? error.code : error),
  );
}

describeWithEngine('postgres', 'Postgres', () => {
  let url: string;
  let postgres: Postgres;
  beforeEach(async () => {
    url = await (await sharedPostgres()).freshDatabase();
    postgres = openPostgres(`${url}?pool=4`, { clock: systemClock });
    await postgres.query('CREATE TABLE words (id INT PRIMARY KEY, word TEXT)');
  });
  afterEach(() => postgres.close());

  const words = async (): Promise<string[]> =>
    (await postgres.read<{ word: string }>('SELECT word FROM words ORDER BY id')).map(({ word }) => word);

  describe('a value', () => {
    test('of eight bytes is a number where a number can hold it, and text where not', async () => {
      const [row] = await postgres.read<object>(
        'SELECT 9007199254740991::int8 AS most, 9007199254740992::int8 AS more, count(*) AS counted FROM words',
      );
      expect(row).toEqual({ most: 2 ** 53 - 1, more: '9007199254740992', counted: 0 });
    });

    test('with a character that Postgres has no place for is the caller’s fault', async () => {
      expect(await failureOf(postgres.query('SELECT $1::text', ['a\0b']))).toBe('invalid_request');
    });

    test('that may be there once only is refused in a way that callers can tell', async () => {
      await postgres.query("INSERT INTO words VALUES (1, 'first')");
      const failure = await failureOf(postgres.query("INSERT INTO words VALUES (1, 'second')"));
      expect(isUniqueViolation(failure)).toBe(true);
      expect(isUniqueViolation(failure, 'words_pkey')).toBe(true);
      expect(isUniqueViolation(failure, 'words_by_something')).toBe(false);
    });
  });

  describe('a connection', () => {
    test('commits to the disk, whatever the database is set to', async () => {
      const name = new URL(url).pathname.slice(1);
      await postgres.query(`ALTER DATABASE ${name} SET synchronous_commit = off`);
      const another = openPostgres(url, { clock: systemClock });
      expect(await another.read<object>('SHOW synchronous_commit')).toEqual([{ synchronous_commit: 'on' }]);
      await another.query(`ALTER DATABASE ${name} SET synchronous_commit = remote_apply`);
      await another.close();
      const third = openPostgres(url, { clock: systemClock });
      expect(await third.read<object>('SHOW synchronous_commit')).toEqual([
        { synchronous_commit: 'remote_apply' },
      ]);
      await third.close();
    });

    test('says whose it is', async () => {
      const text = 'SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()';
      expect(await postgres.read<object>(text)).toEqual([{ application_name: 'terse' }]);
    });

    test('that is ended while nobody uses it is not missed', async () => {
      const other = openPostgres(url, { clock: systemClock });
      await other.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
      await other.close();
      expect(await words()).toEqual([]);
    });

    test('that is ended under a statement makes it fail as unavailable, and the next one works', async () => {
      const text = 'SELECT pg_terminate_backend(pg_backend_pid())';
      expect(await failureOf(postgres.query(text))).toBe('store_unavailable');
      expect(await words()).toEqual([]);
    });

    test('waits its turn for a bounded number of callers and refuses the others', async () => {
      const small = openPostgres(`${url}?pool=1`, { clock: systemClock });
      const first = small.query('SELECT pg_sleep(0.3)');
      const waiting = Array.from({ length: 1_000 }, () => small.query('SELECT 1'));
      const settled = Promise.all(waiting.map(failureOf));
      expect(await failureOf(small.query('SELECT 1'))).toBe('overloaded');
      expect(small.usage).toMatchObject({ busy: 1, connectionsMax: 1 });
      await first;
      // The first of all was not waiting any more by the time that the last one came.
      const failures = (await settled).filter(failure => failure !== 'no failure');
      expect(failures.length).toBeLessThanOrEqual(1);
      expect(small.usage).toMatchObject({ busy: 0, waiting: 0 });
      await small.close();
    });
  });

  describe('a deadline that passes', () => {
    test('fails the call, ends its connection, and leaves the others be', async () => {
      const slow = postgres.query('SELECT pg_sleep(5)', [], { deadlineMs: 50 });
      const others = Array.from({ length: 20 }, () => words());
      expect(await failureOf(slow)).toBe('store_unavailable');
      expect(await Promise.all(others)).toEqual(others.map(() => []));
      expect(postgres.usage.busy).toBe(0);
    });

    test('takes back what its transaction had done', async () => {
      const late = postgres.transaction(
        async tx => {
          await tx.query("INSERT INTO words VALUES (1, 'late')");
          await tx.query('SELECT pg_sleep(1)');
        },
        { deadlineMs: 50 },
      );
      expect(await failureOf(late)).toBe('store_unavailable');
      // It waits for the row's fate, so there is no need to wait for the server to notice.
      await postgres.query("INSERT INTO words VALUES (1, 'in time')");
      expect(await words()).toEqual(['in time']);
    });

    test('counts also while a caller waits for a connection', async () => {
      const small = openPostgres(`${url}?pool=1`, { clock: systemClock });
      const first = small.query('SELECT pg_sleep(0.5)');
      expect(await failureOf(small.query('SELECT 1', [], { deadlineMs: 50 }))).toBe('store_unavailable');
      await first;
      expect(await small.query<object>('SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await small.close();
    });
  });

  describe('a transaction', () => {
    test('keeps all of its work', async () => {
      const result = await postgres.transaction(async tx => {
        await tx.query('INSERT INTO words VALUES (1, $1), (2, $2)', ['one', 'two']);
        return 'done';
      });
      expect([result, await words()]).toEqual(['done', ['one', 'two']]);
    });

    test('keeps nothing when the work throws, and says what was thrown', async () => {
      const refusal = new Problem('alias_taken');
      const failed = postgres.transaction(async tx => {
        await tx.query("INSERT INTO words VALUES (1, 'one')");
        throw refusal;
      });
      expect(await failed.catch(error => error)).toBe(refusal);
      expect(await words()).toEqual([]);
    });

    test('is not called committed when a statement of it failed unnoticed', async () => {
      const failed = postgres.transaction(async tx => {
        await tx.query("INSERT INTO words VALUES (1, 'one')");
        await tx.query('SELECT 1 / 0').catch(() => undefined);
      });
      expect(await failureOf(failed)).toMatchObject({ message: expect.stringContaining('as if it had not') });
      expect(await words()).toEqual([]);
    });

    test('that collides with another one is tried again', async () => {
      await postgres.query("INSERT INTO words VALUES (1, ''), (2, '')");
      let waiting = 2;
      let both = (): void => undefined;
      const bothHaveOne = new Promise<void>(resolve => (both = resolve));
      const inOrder = (ids: readonly number[], word: string) =>
        postgres.transaction(async tx => {
          const append = 'UPDATE words SET word = word || $2 WHERE id = $1';
          await tx.query(append, [ids[0], word]);
          waiting -= 1;
          if (waiting === 0) both();
          await bothHaveOne;
          await tx.query(append, [ids[1], word]);
        });
      await Promise.all([inOrder([1, 2], 'a'), inOrder([2, 1], 'b')]);
      expect(waiting).toBeLessThan(0);
      const [first, second] = await words();
      expect(first).toHaveLength(2);
      expect(second).toBe(first!);
    });

    test('that its process has forgotten is ended by the server', async () => {
      const [row] = await postgres.read<{ timeout: string }>(
        "SELECT current_setting('idle_in_transaction_session_timeout') AS timeout",
      );
      expect(row).toEqual({ timeout: '6s' });
    });
  });

  test('after closing nothing is taken any more, and closing twice is closing', async () => {
    const other = openPostgres(url, { clock: systemClock });
    await other.query('SELECT 1');
    await Promise.all([other.close(), other.close()]);
    expect(await failureOf(other.query('SELECT 1'))).toBe('store_unavailable');
  });
});

test('a server that is not there is unavailable', async () => {
  const absent = openPostgres('postgres://127.0.0.1:1/none', { clock: systemClock });
  expect(await failureOf(absent.read('SELECT 1'))).toBe('store_unavailable');
  await absent.close();
});
