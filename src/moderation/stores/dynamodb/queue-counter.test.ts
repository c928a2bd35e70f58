import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../../../base/clock.ts';
import type { Query } from '../../../engines/dynamodb/queries.ts';
import { waitingCountMax } from '../../store.ts';
import { createQueueCounter } from './queue-counter.ts';

/** A queue whose entries come in these pages, each entry being the time since which it waits. */
function counterOver(pages: readonly (readonly number[])[]) {
  const clock = new ManualClock();
  const walked: number[] = [];
  const query = async ({ start }: Query) => {
    const page = Number(start?.page?.N ?? 0);
    walked.push(page);
    const items = (pages[page] ?? []).map(openedAt => ({ record: { openedAt } }));
    return { items, next: page + 1 < pages.length ? { page: { N: String(page + 1) } } : undefined };
  };
  return { clock, walked, count: createQueueCounter({ query: query as never }, clock) };
}

describe('the queue in DynamoDB', () => {
  test('is counted to its end, and its oldest is found wherever it stands', async () => {
    expect(await counterOver([]).count()).toEqual({ waiting: 0, oldestAt: null });
    expect(await counterOver([[7, 9], [8], [3, 5]]).count()).toEqual({ waiting: 5, oldestAt: 3 });
  });

  test('is counted each time while it is short, and now and then when it is long', async () => {
    const short = counterOver([[1]]);
    await short.count();
    await short.count();
    expect(short.walked).toEqual([0, 0]);
    const long = counterOver([[1], [2]]);
    await long.count();
    long.clock.advance(59_999);
    expect(await long.count()).toEqual({ waiting: 2, oldestAt: 1 });
    expect(long.walked).toEqual([0, 1]);
    long.clock.advance(1);
    await long.count();
    expect(long.walked).toEqual([0, 1, 0, 1]);
  });

  test('is not counted beyond a number that says enough', async () => {
    const page = Array.from({ length: waitingCountMax / 2 + 1 }, () => 1);
    const { count, walked } = counterOver([page, page, page, page]);
    expect(await count()).toEqual({ waiting: waitingCountMax, oldestAt: 1 });
    expect(walked).toEqual([0, 1]);
  });
});
