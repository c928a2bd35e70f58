import { afterEach, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../../../test/kit/engines/postgres.ts';
import { until } from '../../../test/kit/until.ts';
import { systemClock } from '../../base/clock.ts';
import { type MigrationSet, runMigrations } from './migrations.ts';
import { openPostgres, type Postgres } from './postgres.ts';

/** A busy machine is no fault of the server. */
const patient = { deadlineMs: 60_000 };
const createNotes = 'CREATE TABLE notes (text TEXT NOT NULL)';
const addTitle = 'ALTER TABLE notes ADD COLUMN title TEXT';

describeWithEngine('postgres', 'migrations of Postgres', () => {
  let url: string;
  let postgres: Postgres;
  beforeEach(async () => {
    url = await (await sharedPostgres()).freshDatabase();
    postgres = openPostgres(url, { clock: systemClock });
  });
  afterEach(() => postgres.close());

  const migrate = (...steps: string[]) => runMigrations(postgres, [{ component: 'notes', steps }]);

  async function versionOf(component: string): Promise<number | undefined> {
    const text = 'SELECT version FROM migrations WHERE component = $1';
    return (await postgres.read<{ version: number }>(text, [component], patient))[0]?.version;
  }

  async function columnsOf(table: string): Promise<string[]> {
    const text = `SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position`;
    return (await postgres.read<{ name: string }>(text, [table], patient)).map(({ name }) => name);
  }

  test('a database gets every step once, and later only the new ones', async () => {
    await migrate(createNotes);
    expect(await columnsOf('notes')).toEqual(['text']);
    await migrate(createNotes, addTitle);
    await migrate(createNotes, addTitle);
    expect(await columnsOf('notes')).toEqual(['text', 'title']);
    expect(await versionOf('notes')).toBe(2);
  });

  test('components do not count each other’s steps', async () => {
    const other: MigrationSet = { component: 'other', steps: ['CREATE TABLE other (id INT)'] };
    await runMigrations(postgres, [{ component: 'notes', steps: [createNotes, addTitle] }, other]);
    expect([await versionOf('notes'), await versionOf('other')]).toEqual([2, 1]);
    expect(await columnsOf('other')).toEqual(['id']);
  });

  test('a database written by a newer version is refused in words that say so, and left alone', async () => {
    await migrate(createNotes, addTitle);
    await expect(migrate(createNotes)).rejects.toThrow(
      'the database was written by a newer Terse: its notes schema is version 2, this one knows 1',
    );
    expect(await versionOf('notes')).toBe(2);
  });

  test('a step that fails leaves neither its changes nor a new version behind, and can be mended', async () => {
    await expect(migrate(createNotes, `${addTitle}; INSERT INTO nowhere VALUES (1)`)).rejects.toThrow(
      'nowhere',
    );
    expect(await versionOf('notes')).toBe(1);
    expect(await columnsOf('notes')).toEqual(['text']);
    await migrate(createNotes, addTitle);
    expect(await versionOf('notes')).toBe(2);
  });

  test('processes that migrate one empty database at once run each step once, and none of them fails', async () => {
    const set: MigrationSet = {
      component: 'counted',
      steps: [
        'CREATE TABLE runs (id SERIAL, step INT)',
        ...Array.from({ length: 10 }, (_, step) => `INSERT INTO runs (step) VALUES (${step})`),
      ],
    };
    const others = Array.from({ length: 6 }, () => openPostgres(url, { clock: systemClock }));
    await Promise.all(others.map(other => runMigrations(other, [set])));
    await Promise.all(others.map(other => other.close()));
    const steps = await postgres.read<{ step: number }>('SELECT step FROM runs ORDER BY id', [], patient);
    expect(steps.map(({ step }) => step)).toEqual(Array.from({ length: 10 }, (_, step) => step));
    expect(await versionOf('counted')).toBe(set.steps.length);
  });

  test('a step whose table is in use yields to others now and then, and runs when the table is free', async () => {
    await migrate(createNotes);
    const begun = Promise.withResolvers<void>();
    let isReading = true;
    const reading = postgres.transaction(async tx => {
      await tx.query('SELECT * FROM notes');
      begun.resolve();
      await until('the end', async () => {
        // The server ends a transaction that does nothing.
        await tx.query('SELECT 1');
        return !isReading;
      });
    }, patient);
    await begun.promise;
    const migrated = migrate(createNotes, addTitle);
    await until('the step to wait', async () => {
      const text = "SELECT 1 FROM pg_locks WHERE relation = 'notes'::regclass AND NOT granted";
      return (await postgres.query(text, [], patient)).length > 0;
    });
    // Behind a step that went on waiting this would wait too.
    expect(await postgres.query<object>('SELECT * FROM notes', [], patient)).toEqual([]);
    isReading = false;
    await reading;
    await migrated;
    expect(await versionOf('notes')).toBe(2);
  });
});
