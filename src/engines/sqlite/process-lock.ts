/**
 * A lock among the processes of one machine, for work that only one of them should do at a time. SQLite's own write
 * lock on a file made for nothing else: the system releases it when the process ends, however it ends, so there is no
 * lease to renew and none to wait out.
 */
import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { isBusy } from './database.ts';

export class ProcessLock {
  readonly #path: string;
  #database: Database | undefined;
  #held = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Runs the work while holding the lock, or does not when another process holds it; says which. */
  async tryRun(work: () => Promise<void>): Promise<boolean> {
    if (this.#held || !this.#take()) return false;
    this.#held = true;
    try {
      await work();
      return true;
    } finally {
      this.#held = false;
      this.#database?.run('ROLLBACK');
    }
  }

  /** Not while the lock is held. */
  close(): void {
    this.#database?.close();
    this.#database = undefined;
  }

  #take(): boolean {
    try {
      this.#database ??= open(this.#path);
      this.#database.run('BEGIN IMMEDIATE');
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    }
  }
}

function open(path: string): Database {
  mkdirSync(dirname(path), { recursive: true });
  const database = new Database(path, { create: true, readwrite: true, strict: true });
  database.run('PRAGMA busy_timeout = 0');
  return database;
}
