import { expect, test } from 'bun:test';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock } from '../base/clock.ts';
import type { LinkContext } from './context.ts';
import { listLinks } from './read.ts';
import { listQuery } from './store-samples.ts';

const owner = fakeActor('acc_1');

/** A store of endless links none of which match, and each look through them takes `windowMs`. */
function endlessStore(windowMs: number) {
  const clock = new ManualClock();
  let windows = 0;
  const list = async () => {
    windows += 1;
    clock.advance(windowMs);
    return { links: [], nextCursor: `after-${windows}` };
  };
  const context = { clock, store: { list } } as unknown as LinkContext;
  return { context, windows: () => windows };
}

test('a search for what is not there hands out a cursor once it has taken long enough', async () => {
  const slow = endlessStore(20);
  expect(await listLinks(slow.context, owner, listQuery())).toEqual({ links: [], nextCursor: 'after-3' });
  expect(slow.windows()).toBe(3);
});

test('a search for what is not there ends also when it takes no time', async () => {
  const quick = endlessStore(0);
  const { nextCursor } = await listLinks(quick.context, owner, listQuery());
  expect(nextCursor).toBe(`after-${quick.windows()}`);
});
