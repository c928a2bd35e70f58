/** A process that migrates the file it is given and ends; several of them are started at once. */
import { openForWriting } from './database.ts';
import { type MigrationSet, migrate } from './migrations.ts';

/** A step that ran twice would fail or count twice. */
export const countedSteps: MigrationSet = {
  component: 'counted',
  steps: [
    'CREATE TABLE runs (step INTEGER NOT NULL) STRICT',
    ...Array.from({ length: 20 }, (_, step) => `INSERT INTO runs (step) VALUES (${step})`),
  ],
};

if (import.meta.main) {
  const database = openForWriting(process.argv[2]!);
  migrate(database, countedSteps);
  database.close();
}
