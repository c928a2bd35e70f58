/** A writer thread with operations made for tests: it keeps words, and can fail or take its time over it. */
import type { Database } from 'bun:sqlite';
import { runWriterLoop } from './writer.ts';

export function wordOperations(database: Database) {
  const insert = database.query('INSERT INTO words (word) VALUES (?)');
  return {
    /** Returns the word, so that a caller can tell its own result from another's. */
    keep(word: string): string {
      insert.run(word);
      return word;
    },
    /** The loop finds its transaction ended, as after a COMMIT that failed half-way. */
    commitItself(word: string): void {
      insert.run(word);
      database.run('COMMIT');
    },
    /** Ends the thread after the commit: a function cannot be sent. */
    die(word: string): unknown {
      insert.run(word);
      return () => word;
    },
    fail(message: string): never {
      throw new Error(message);
    },
    keepSlowly({ word, durationMs }: { word: string; durationMs: number }): string {
      Bun.sleepSync(durationMs);
      insert.run(word);
      return word;
    },
  };
}

export type WordOperations = ReturnType<typeof wordOperations>;

runWriterLoop(
  [{ component: 'words', steps: ['CREATE TABLE words (word TEXT NOT NULL) STRICT'] }],
  wordOperations,
);
