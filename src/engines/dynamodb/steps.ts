/**
 * Changes that are one step although DynamoDB has no transaction that reads first: read, plan what to write under the
 * condition that nothing has changed since, write all of it or nothing, and plan anew when something has. The number of
 * plans is bounded; who loses them all is told to come back.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import type { Dynamo } from './dynamodb.ts';
import { type Condition, isNew, type TransactItem } from './expressions.ts';
import { createTurns } from './turns.ts';

export interface Plan<Answer> {
  /** What the caller is told once everything is written; at once when there is nothing to write. */
  readonly answer: Answer;
  readonly writes?: readonly TransactItem[];
  /** What it means that these writes were refused; undefined when the plan rests on something that has changed. */
  readonly refused?: (failed: readonly TransactItem[]) => Answer | undefined;
}

export interface Steps {
  /**
   * Steps with the same name wait for each other in this process. A plan that is undefined has read what does not
   * fit together, because it was being changed, and is made again.
   */
  run<Answer>(name: string, plan: () => Promise<Plan<Answer> | undefined>): Promise<Answer>;
}

const plansMax = 12;
const firstPauseMs = 10;
const pauseMaxMs = 500;

export function createSteps(dynamo: Pick<Dynamo, 'transact'>, clock: Clock, random: Random): Steps {
  const turns = createTurns();

  const attempt = async <Answer>(makePlan: () => Promise<Plan<Answer> | undefined>): Promise<Answer> => {
    for (let plans = 0; plans < plansMax; plans += 1) {
      const plan = await makePlan();
      if (plan !== undefined) {
        const { answer, writes, refused } = plan;
        if (writes === undefined) return answer;
        const outcome = await dynamo.transact(writes);
        if (outcome.kind === 'done') return answer;
        const verdict = refused?.(outcome.failed.map(index => writes[index]!));
        if (verdict !== undefined) return verdict;
      }
      // Of those who disturbed each other one has got through; the others come back at different times.
      await sleep(clock, random.float() * Math.min(pauseMaxMs, firstPauseMs * 2 ** plans));
    }
    throw new Problem('overloaded', { detail: 'Too many changes were made to the same thing at once.' });
  };

  return { run: (name, plan) => turns.take(name, () => attempt(plan)) };
}

/** Holds while the item is as it was read, or still is not there. Every write of such an item raises its version. */
export function unchanged(item: { readonly version: number } | undefined): Condition {
  if (item === undefined) return isNew;
  return { expression: '#version = :version', values: { version: item.version } };
}

export const nextVersion = (item: { readonly version: number } | undefined): number =>
  (item?.version ?? 0) + 1;
