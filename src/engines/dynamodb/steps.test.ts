import { describe, expect, test } from 'bun:test';
import { type Clock, systemClock } from '../../base/clock.ts';
import { seededRandom } from '../../base/random.ts';
import type { TransactOutcome } from './dynamodb.ts';
import type { TransactItem } from './expressions.ts';
import { createSteps, unchanged } from './steps.ts';

const write: TransactItem = { put: { pk: 'a', sk: 'a' } };
const guard: TransactItem = { check: { pk: 'b', sk: 'b' }, condition: unchanged({ version: 1 }) };

const hurried: Clock = { ...systemClock, after: (_delayMs, task) => systemClock.after(0, task) };

/** Steps on an engine that refuses the second of the writes this often. */
function stepsRefused(times: number) {
  const sent: (readonly TransactItem[])[] = [];
  const transact = async (items: readonly TransactItem[]): Promise<TransactOutcome> => {
    sent.push(items);
    return sent.length > times ? { kind: 'done' } : { kind: 'refused', failed: [1] };
  };
  return { sent, steps: createSteps({ transact }, hurried, seededRandom(1)) };
}

describe('a step', () => {
  test('is planned again until what it rests on has held still', async () => {
    const { sent, steps } = stepsRefused(3);
    let plans = 0;
    const answer = await steps.run('name', async () => {
      plans += 1;
      return { answer: `plan ${plans}`, writes: [write, guard] };
    });
    expect(answer).toBe('plan 4');
    expect(sent).toHaveLength(4);
  });

  test('that reads what does not fit together is planned again', async () => {
    const { steps } = stepsRefused(0);
    let plans = 0;
    const answer = await steps.run('name', async () => {
      plans += 1;
      return plans < 3 ? undefined : { answer: 'done', writes: [write] };
    });
    expect(answer).toBe('done');
  });

  test('may take a refusal for an answer, and is told which of its writes was refused', async () => {
    const { sent, steps } = stepsRefused(1);
    const answer = await steps.run<string>('name', async () => ({
      answer: 'done',
      writes: [write, guard],
      refused: failed => (failed.includes(guard) && !failed.includes(write) ? 'taken' : undefined),
    }));
    expect(answer).toBe('taken');
    expect(sent).toHaveLength(1);
  });

  test('with nothing to write asks nobody', async () => {
    const { sent, steps } = stepsRefused(0);
    expect(await steps.run('name', async () => ({ answer: 'known' }))).toBe('known');
    expect(sent).toEqual([]);
  });

  test('gives up after so many plans', async () => {
    const { sent, steps } = stepsRefused(1_000);
    const never = steps.run('name', async () => ({ answer: 'done', writes: [write, guard] }));
    await expect(never).rejects.toMatchObject({ code: 'overloaded' });
    expect(sent.length).toBeLessThan(20);
  });
});
