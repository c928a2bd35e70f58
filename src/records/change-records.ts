/**
 * How a rule changes records: read, decide what to write under the condition that nothing has changed since, write all
 * of it or nothing, and decide again after a conflict. The number of attempts is bounded; a caller whose attempts all
 * fail is asked to retry later.
 */
import { type Clock, sleep } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { createKeyedSerialQueue } from '../base/serial-queue.ts';
import type { RecordStore, RecordWrite } from './record-store.ts';

export interface Decision<Answer> {
  /** What the caller gets once everything is written; at once when there is nothing to write. */
  readonly answer: Answer;
  readonly writes?: readonly RecordWrite[];
}

export interface RecordChanges {
  /** Changes with the same name wait for each other in this process, so that they do not conflict all the time. */
  run<Answer>(name: string, decide: () => Promise<Decision<Answer>>): Promise<Answer>;
}

const attemptsMax = 20;
const firstPauseMs = 10;
const pauseMaxMs = 500;

export function createRecordChanges(
  store: Pick<RecordStore, 'transact'>,
  clock: Clock,
  random: Random,
): RecordChanges {
  const turns = createKeyedSerialQueue();

  const attempt = async <Answer>(decide: () => Promise<Decision<Answer>>): Promise<Answer> => {
    for (let attempts = 0; attempts < attemptsMax; attempts += 1) {
      const { answer, writes = [] } = await decide();
      if (writes.length === 0 || (await store.transact(writes)) === 'done') return answer;
      // Of the conflicting changes one was made; the others retry at different times.
      await sleep(clock, random.float() * Math.min(pauseMaxMs, firstPauseMs * 2 ** attempts));
    }
    throw new Problem('overloaded', { detail: 'Too many concurrent changes to the same record.' });
  };

  return { run: (name, decide) => turns.run(name, () => attempt(decide)) };
}
