import { beforeEach, expect, test } from 'bun:test';
import { sharedClickHouse } from '../../../test/kit/engines/clickhouse.ts';
import { patientClickHouse } from '../../../test/kit/engines/clickhouse-client.ts';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import type { ClickHouse } from './clickhouse.ts';
import { type MigrationSet, runMigrations } from './migrations.ts';

describeWithEngine('clickhouse', 'migrations of ClickHouse', () => {
  let clickHouse: ClickHouse;
  beforeEach(async () => {
    clickHouse = patientClickHouse((await sharedClickHouse()).freshDatabaseUrl());
  });

  const first = ['CREATE TABLE IF NOT EXISTS words (word String) ENGINE = MergeTree ORDER BY word'];
  const second = ['ALTER TABLE words ADD COLUMN IF NOT EXISTS length UInt32'];
  const set = (...steps: string[][]): MigrationSet => ({ component: 'words', steps });
  const columns = async () =>
    (
      await clickHouse.rows<{ name: string }>(
        `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = 'words' ORDER BY position`,
      )
    ).map(({ name }) => name);

  test('make the database, and run what a database has not seen, in order', async () => {
    expect(await runMigrations(clickHouse, set(first))).toEqual(['brought the tables of words to version 1']);
    expect(await columns()).toEqual(['word']);
    expect(await runMigrations(clickHouse, set(first, second))).toEqual([
      'brought the tables of words to version 2',
    ]);
    expect(await columns()).toEqual(['word', 'length']);
  });

  test('make nothing where everything is there, and say nothing', async () => {
    await runMigrations(clickHouse, set(first));
    const statements: string[] = [];
    clickHouse.run = async statement => void statements.push(statement);
    expect(await runMigrations(clickHouse, set(first))).toEqual([]);
    expect(statements).toEqual([]);
  });

  test('run a step that is noted as done no more', async () => {
    await runMigrations(clickHouse, set(first));
    await runMigrations(clickHouse, set(['nonsense'], second));
    expect(await columns()).toEqual(['word', 'length']);
  });

  test('run a step that failed in the middle again, from its beginning', async () => {
    await expect(runMigrations(clickHouse, set([...first, 'nonsense']))).rejects.toThrow('nonsense');
    await runMigrations(clickHouse, set([...first, ...second]));
    expect(await columns()).toEqual(['word', 'length']);
  });

  test('may be run by several processes at once', async () => {
    await clickHouse.ensureDatabase();
    await Promise.all(Array.from({ length: 4 }, () => runMigrations(clickHouse, set(first, second))));
    expect(await columns()).toEqual(['word', 'length']);
  });

  test('refuse a database that a newer Terse has written', async () => {
    await runMigrations(clickHouse, set(first, second));
    await expect(runMigrations(clickHouse, set(first))).rejects.toThrow('newer Terse');
  });
});
