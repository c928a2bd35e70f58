/** What a migration keeps in the table it copies into: its progress, and which runner owns it. */
import type { ProgressNotes } from '../../base/transfer.ts';
import type { Dynamo } from './dynamodb.ts';
import type { Key } from './expressions.ts';

interface ProgressItem extends Key {
  readonly runner: string;
  readonly progress: string;
}

const progressKey: Key = { pk: 'transfer', sk: 'progress' };

/** Undefined where no migration has ever begun. */
export async function readProgress(dynamo: Dynamo): Promise<string | undefined> {
  return (await dynamo.get<ProgressItem>(progressKey))?.progress;
}

export const progressNotes = (dynamo: Dynamo): ProgressNotes => ({
  load: () => readProgress(dynamo),
  async take(runner, progress) {
    await dynamo.write({ put: { ...progressKey, runner, progress } });
  },
  save: (runner, progress) =>
    dynamo.write({
      update: progressKey,
      expression: 'SET #progress = :progress',
      condition: '#runner = :runner',
      values: { runner, progress },
    }),
});
