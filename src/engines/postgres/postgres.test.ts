import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../../../test/kit/engines/postgres.ts';
import { until } from '../../../test/kit/until.ts';
import { systemClock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { createLog } from '../../telemetry/log.ts';
import { openPostgres, type Postgres } from './postgres.ts';

async function failureOf(run: Promise<unknown>): Promise<unknown> {
  return run.then(
    () => 'no failure',
    error => (error instanceof Problem ? error.code : error),
  );
}

/** For calls whose deadline is not what is tested: a busy machine is no fault of the server. */
const patient = { deadlineMs: 60_000 };

/** Uses a connection until the returned function is called. */
async function holdConnection(postgres: Postgres): Promise<() => Promise<void>> {
  const [isHeld, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = postgres.transaction(async tx => {
    await tx.query('SELECT 1');
    isHeld.resolve();
    await isReleased.promise;
  }, patient);
  await isHeld.promise;
  return () => {
    isReleased.resolve();
    return holding;
  };
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
    (await postgres.read<{ word: string }>('SELECT word FROM words ORDER BY id', [], patient)).map(
      ({ word }) => word,
    );

  describe('a value', () => {
    test('of eight bytes is a number where a number can hold it, and text where not', async () => {
      const [row] = await postgres.read<object>(
        'SELECT 9007199254740991::int8 AS most, 9007199254740992::int8 AS more, count(*) AS counted FROM words',
      );
      expect(row).toEqual({ most: 2 ** 53 - 1, more: '9007199254740992', counted: 0 });
    });

    test('with a character that Postgres cannot store is the caller’s fault', async () => {
      expect(await failureOf(postgres.query('SELECT $1::text', ['a\0b']))).toBe('invalid_request');
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

    test('that is ended while idle is in the log once, however many there are', async () => {
      let written = '';
      const log = createLog({ level: 'info', clock: systemClock, write: text => (written += text) });
      const logged = openPostgres(`${url}?pool=4`, { clock: systemClock, log });
      await Promise.all(Array.from({ length: 4 }, () => logged.query('SELECT pg_sleep(0.2)')));
      await postgres.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
      const seen = () => [...log.lines.samples('level'), ...log.suppressed.samples('level')];
      await until('all four are lost', () => seen().reduce((sum, { value }) => sum + value, 0) === 4);
      log.finish();
      await logged.close();
      const lines = written.trim().split('\n');
      expect(lines.map(line => JSON.parse(line))).toMatchObject([
        { event: 'postgres_connection_lost', failure: { code: '57P01' } },
        { event: 'postgres_connection_lost', repeated: 3 },
      ]);
    });

    test('that is ended while idle is not missed', async () => {
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
      const first = small.query('SELECT 1', [], patient);
      const waiting = Array.from({ length: 1_000 }, () => small.query('SELECT 1', [], patient));
      const settled = Promise.all(waiting.map(failureOf));
      expect(await failureOf(small.query('SELECT 1'))).toBe('overloaded');
      expect(small.usage).toMatchObject({ busy: 1, connectionsMax: 1 });
      await first;
      const outcomes = await settled;
      // The first of all may not have been waiting any more by the time that the last one came.
      expect(outcomes.filter(outcome => outcome === 'overloaded').length).toBeLessThanOrEqual(1);
      // On a busy machine not all of them get their turn in the two seconds that a connection is waited for.
      expect(outcomes).toContain('no failure');
      expect(small.usage).toMatchObject({ busy: 0, waiting: 0 });
      await small.close();
    });
  });

  describe('a failure says whether the write may have been committed', () => {
    const outcomeOf = (run: Promise<unknown>): Promise<unknown> =>
      run.then(
        () => 'no failure',
        error => (error instanceof Problem ? error.outcome : error),
      );
    const die = 'SELECT pg_terminate_backend(pg_backend_pid())';

    test('when no answer came to what commits', async () => {
      const slow = 'SELECT pg_sleep(5)';
      expect(await outcomeOf(postgres.query(slow, [], { deadlineMs: 50 }))).toBe('unknown');
      expect(await outcomeOf(postgres.query(die))).toBe('unknown');
      // The connection ends during the COMMIT.
      await postgres.query(
        `CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`,
      );
      await postgres.query(
        'CREATE CONSTRAINT TRIGGER dying AFTER INSERT ON words DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die()',
      );
      const insert = "INSERT INTO words VALUES (1, 'x')";
      expect(await outcomeOf(postgres.transaction(tx => tx.query(insert)))).toBe('unknown');
    });

    test('not before that, nor when the server answered that it failed', async () => {
      expect(await outcomeOf(postgres.transaction(tx => tx.query(die)))).toBe('none');
      const late = postgres.transaction(tx => tx.query('SELECT pg_sleep(5)'), { deadlineMs: 50 });
      expect(await outcomeOf(late)).toBe('none');
      const locked = `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '55P03'; END $$`;
      expect(await outcomeOf(postgres.query(locked))).toBe('none');
      expect(await outcomeOf(postgres.read('SELECT pg_sleep(5)', [], { deadlineMs: 50 }))).toBe('none');
      const small = openPostgres(`${url}?pool=1`, { clock: systemClock });
      const release = await holdConnection(small);
      expect(await outcomeOf(small.query('SELECT 1', [], { deadlineMs: 50 }))).toBe('none');
      await release();
      await small.close();
      expect(await outcomeOf(small.query('SELECT 1'))).toBe('none');
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
          await tx.query('SELECT pg_sleep(5)');
        },
        { deadlineMs: 50 },
      );
      expect(await failureOf(late)).toBe('store_unavailable');
      // It waits for the row's fate, so there is no need to wait for the server to notice.
      await postgres.query("INSERT INTO words VALUES (1, 'in time')", [], patient);
      expect(await words()).toEqual(['in time']);
    });

    test('counts also while a caller waits for a connection', async () => {
      const small = openPostgres(`${url}?pool=1`, { clock: systemClock });
      const release = await holdConnection(small);
      const waiting = failureOf(small.query('SELECT 1', [], { deadlineMs: 50 }));
      // Without a deadline it would get the connection then.
      await Promise.race([waiting, Bun.sleep(1_000)]);
      await release();
      expect(await waiting).toBe('store_unavailable');
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
