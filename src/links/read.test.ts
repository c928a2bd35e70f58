import { expect, test } from 'bun:test';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock } from '../base/clock.ts';
import type { LinkContext } from './context.ts';
import { countLinks, listLinks } from './read.ts';
import { listQuery } from './store-samples.ts';

const owner = fakeActor('acc_1');

/** A store of endless links none of which match; each window takes `windowMs`. */
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

test('a search without matches returns a cursor once it has taken long enough', async () => {
  const slow = endlessStore(20);
  expect(await listLinks(slow.context, owner, listQuery())).toEqual({ links: [], nextCursor: 'after-3' });
  expect(slow.windows()).toBe(3);
});

test('a search without matches also ends when it takes no time', async () => {
  const quick = endlessStore(0);
  const { nextCursor } = await listLinks(quick.context, owner, listQuery());
  expect(nextCursor).toBe(`after-${quick.windows()}`);
});

test('counting adds up windows, and gives up when it takes too long', async () => {
  const clock = new ManualClock();
  const counting = (windows: number, windowMs: number) => {
    let left = windows;
    const count = async () => {
      left -= 1;
      clock.advance(windowMs);
      return { count: 3, nextCursor: left === 0 ? undefined : `left-${left}` };
    };
    const store = { count } as unknown as LinkContext['store'];
    return countLinks({ clock, store }, owner, {});
  };
  expect(await counting(1, 10_000)).toBe(3);
  expect(await counting(20, 10)).toBe(60);
  expect(await counting(1_000, 10)).toBeUndefined();
});
