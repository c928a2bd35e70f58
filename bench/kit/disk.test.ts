import { expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForWriting } from '../../src/engines/sqlite/database.ts';
import { commitsOf, databaseBytes, fsyncsPerSecond, rowsPerSecond } from './disk.ts';

async function inFolder(work: (folder: string) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'terse-bench-'));
  try {
    work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('the commits of an open database are counted exactly, across checkpoints', () =>
  inFolder(folder => {
    const database = openForWriting(join(folder, 'terse.db'));
    database.run('CREATE TABLE probe (id INTEGER PRIMARY KEY)');
    const before = commitsOf(folder);
    for (let turn = 0; turn < 20; turn += 1) {
      database.transaction(() => {
        database.run('INSERT INTO probe DEFAULT VALUES');
        database.run('INSERT INTO probe DEFAULT VALUES');
      })();
      if (turn % 7 === 0) database.run('PRAGMA wal_checkpoint(TRUNCATE)');
    }
    expect(commitsOf(folder) - before).toBe(20);
    expect(databaseBytes(folder)).toBeGreaterThan(4096);
    database.close();
  }));

test('the probes of the disk leave nothing behind', () =>
  inFolder(folder => {
    expect(fsyncsPerSecond(folder, 20)).toBeGreaterThan(0);
    for (const rows of [1, 64]) expect(rowsPerSecond(folder, 20, rows)).toBeGreaterThan(0);
    expect(readdirSync(folder)).toEqual([]);
  }));
