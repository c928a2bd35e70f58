import { expect, test } from 'bun:test';
import { WatchList, watchersMax } from './watch-list.ts';

test('each watcher hears of its own link, and the list of watched links follows who watches', () => {
  const lists: string[][] = [];
  const watchList = new WatchList(codes => lists.push([...codes]));
  const heard: string[] = [];
  const stopFirst = watchList.watch('a', ({ counts }) => heard.push(`first ${JSON.stringify(counts)}`));
  const stopSecond = watchList.watch('a', ({ counts }) => heard.push(`second ${JSON.stringify(counts)}`));
  const stopOther = watchList.watch('b', ({ counts }) => heard.push(`other ${JSON.stringify(counts)}`));
  watchList.publish({ clicks: [], counts: { a: 2, c: 1 } });
  expect(heard).toEqual(['first {"a":2}', 'second {"a":2}']);
  stopFirst();
  stopFirst();
  stopSecond();
  stopOther();
  expect(lists).toEqual([['a'], ['a', 'b'], ['b'], []]);
  watchList.publish({ clicks: [], counts: { a: 2 } });
  expect(heard).toHaveLength(2);
});

test('there is an end to how many may watch', () => {
  const watchList = new WatchList(() => {});
  const stops = Array.from({ length: watchersMax }, () => watchList.watch('a', () => {}));
  expect(watchList.isFull).toBe(true);
  stops[0]!();
  expect(watchList.isFull).toBe(false);
});

test('all watchers can be told that it is over, and then nobody begins to watch', () => {
  const lists: string[][] = [];
  const watchList = new WatchList(codes => lists.push([...codes]));
  const ended: string[] = [];
  const watch = (name: string, code: string) => {
    const stop = watchList.watch(
      code,
      () => {},
      () => {
        ended.push(name);
        stop();
      },
    );
    return stop;
  };
  watch('first', 'a');
  watch('second', 'a');
  watch('other', 'b');
  watch('gone before', 'b')();
  watchList.endAll();
  expect(ended).toEqual(['first', 'second', 'other']);
  expect(lists.at(-1)).toEqual([]);
  expect(watchList.codes).toEqual([]);
  expect(watchList.isFull).toBe(true);
  watchList.endAll();
  expect(ended).toHaveLength(3);
});
