import { afterEach, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../../../test/kit/engines/postgres.ts';
import { systemClock } from '../../base/clock.ts';
import { type MigrationSet, runMigrations } from './migrations.ts';
import { openPostgres, type Postgres } from './postgres.ts';

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
    return (await postgres.read<{ version: number }>(text, [component]))[0]?.version;
  }

  async function columnsOf(table: string): Promise<string[]> {
    const text = `SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position`;
    return (await postgres.read<{ name: string }>(text, [table])).map(({ name }) => name);
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
    const steps = await postgres.read<{ step: number }>('SELECT step FROM runs ORDER BY id');
    expect(steps.map(({ step }) => step)).toEqual(Array.from({ length: 10 }, (_, step) => step));
    expect(await versionOf('counted')).toBe(set.steps.length);
  });

  test('a step whose table is in use yields to others now and then, and runs when the table is free', async () => {
    await migrate(createNotes);
    let letGo = (): void => undefined;
    const finished = new Promise<void>(resolve => (letGo = resolve));
    const reading = postgres.transaction(async tx => {
      await tx.query('SELECT * FROM notes');
      // Longer than a step waits for a table.
      await Bun.sleep(2_500);
      await finished;
    });
    const migrated = migrate(createNotes, addTitle);
    // Behind a step that went on waiting this would wait too.
    await Bun.sleep(100);
    expect(await postgres.query<object>('SELECT * FROM notes')).toEqual([]);
    letGo();
    await reading;
    await migrated;
    expect(await versionOf('notes')).toBe(2);
  });
});
