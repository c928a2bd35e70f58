/** What a migration keeps in the table it copies into: how far it has come, and who runs it. */
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

/** Takes the migration over from whoever ran it before. */
export async function takeProgress(dynamo: Dynamo, runner: string, progress: string): Promise<void> {
  await dynamo.write({ put: { ...progressKey, runner, progress } });
}

/** False when another runner has taken over. */
export const saveProgress = (dynamo: Dynamo, runner: string, progress: string): Promise<boolean> =>
  dynamo.write({
    update: progressKey,
    expression: 'SET #progress = :progress',
    condition: '#runner = :runner',
    values: { runner, progress },
  });
