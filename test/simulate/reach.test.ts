/** How long a process may act on outdated state, by what it and the changing process could reach since. */
import { expect, test } from 'bun:test';
import { isolatedMs, Reach } from './reach.ts';

const reader = { process: 0, life: 1 };
const changer = { process: 1, life: 1 };
const ackedMs = 10_000;

/** Both on the channel from the start; the reader without the store from 5 s on. */
function withoutStore(): Reach {
  const reach = new Reach(2);
  for (const each of [reader, changer]) reach.note(each, 0, { store: true, channel: true });
  reach.note(reader, 5_000, { store: false, channel: true });
  return reach;
}

test('a process without the store knows of a change by the messages of the process that made it', () => {
  const reach = withoutStore();
  expect(reach.mayBeStale(reader, changer, ackedMs, ackedMs + 1_000)).toBe(true);
  expect(reach.mayBeStale(reader, changer, ackedMs, ackedMs + 4_000)).toBe(false);
});

test('an isolated process is stale for its bound and no longer', () => {
  const reach = withoutStore();
  reach.note(reader, 9_000, { store: false, channel: false });
  expect(reach.mayBeStale(reader, changer, ackedMs, ackedMs + isolatedMs)).toBe(true);
  expect(reach.mayBeStale(reader, changer, ackedMs, ackedMs + isolatedMs + 4_000)).toBe(false);
});

test('once the store is reached again, a change is known after a moment', () => {
  const reach = withoutStore();
  reach.note(reader, 9_000, { store: false, channel: false });
  reach.note(reader, 11_000, { store: true, channel: false });
  expect(reach.mayBeStale(reader, changer, ackedMs, 14_000)).toBe(true);
  expect(reach.mayBeStale(reader, changer, ackedMs, 15_000)).toBe(false);
});

test('a process that was never seen on the channel has no bound, until the store is reached', () => {
  const reach = withoutStore();
  const unseen = { ...changer, life: 2 };
  reach.note(unseen, 9_000, { store: true, channel: false });
  expect(reach.mayBeStale(reader, unseen, ackedMs, ackedMs + 10 * isolatedMs)).toBe(true);
  reach.note(reader, 50_000, { store: true, channel: true });
  expect(reach.mayBeStale(reader, unseen, ackedMs, 54_000)).toBe(false);
});

test('a process knows of its own changes at once', () => {
  expect(withoutStore().mayBeStale(changer, changer, ackedMs, ackedMs + 1)).toBe(false);
});
