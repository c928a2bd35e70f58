/** The contract of a recount of the whole stream, as tests; part of `warehouse.conformance.ts`. */
import { expect, test } from 'bun:test';
import { seededRandom } from '../base/random.ts';
import { type SampleClick, samplesStart } from './batch-samples.ts';
import {
  everythingIn,
  link,
  mismatches,
  partition,
  randomTraffic,
  sampledRange,
  someQuestions,
  Truth,
} from './fake-warehouse-truth.ts';
import type { LogBatch } from './log.ts';
import { grainMs, type Warehouse } from './warehouse.ts';

const { from, to } = sampledRange;
const dayAt = (at: number): number => Math.floor(at / grainMs.day) * grainMs.day;

export function recountAllConformance(warehouse: () => Warehouse): void {
  async function* inChunks(batches: readonly LogBatch[], cut = 4) {
    yield batches.slice(0, cut);
    yield batches.slice(cut);
  }

  test('a recount of the whole stream restores the same numbers', async () => {
    const clicks = randomTraffic(seededRandom(15), 1_000);
    const batches = partition('p', clicks, 100);
    await warehouse().apply(batches);
    const before = await everythingIn(warehouse());
    const ledger = await warehouse().ledger(from, to);
    const plan = { countFrom: 0, producers: ['p'] };
    expect(await warehouse().recountAll(plan, inChunks(batches.slice(0, 7)))).toEqual({
      clicks: 700,
      duplicates: 0,
    });
    expect(await mismatches(warehouse(), new Truth(clicks.slice(0, 700)), someQuestions)).toEqual([]);
    expect(await warehouse().recountAll(plan, inChunks(batches))).toEqual({ clicks: 1_000, duplicates: 0 });
    expect(await everythingIn(warehouse())).toEqual(before);
    expect(await warehouse().ledger(from, to)).toEqual(ledger);
    expect(await warehouse().positions()).toEqual(new Map([['p', 1_000]]));
  });

  test('a recount leaves out what was deleted before it', async () => {
    const clicks = randomTraffic(seededRandom(21), 600);
    const batches = partition('p', clicks, 100);
    await warehouse().apply(batches);
    await warehouse().forget('link0', to);
    const truth = new Truth(clicks);
    truth.forget('link0', to);
    await warehouse().recountAll({ countFrom: 0, producers: ['p'] }, inChunks(batches));
    expect(await mismatches(warehouse(), truth, someQuestions)).toEqual([]);
    expect((await warehouse().total(link('link0'))).clicks).toBe(0);
  });

  test('a recount of the later part leaves the earlier part as it was', async () => {
    const clicks = randomTraffic(seededRandom(16), 1_000);
    await warehouse().apply(partition('p', clicks, 100));
    const before = await everythingIn(warehouse());
    const cut = dayAt(samplesStart + grainMs.day);
    const late = partition(
      'p',
      clicks.filter(({ at }) => at >= cut - grainMs.day / 2),
      100,
    );
    await warehouse().recountAll({ countFrom: cut, producers: ['p'] }, inChunks(late, 1));
    expect(await everythingIn(warehouse())).toEqual(before);
  });

  test('a recount keeps the last click of links without clicks since then', async () => {
    const [early, late] = [samplesStart, dayAt(samplesStart + 3 * grainMs.day)];
    const of = (code: string, at: number): SampleClick => ({
      code,
      at,
      ownerId: 'acc_1',
      kind: 'human',
      visitor: 1,
    });
    const clicks = [of('quiet', early + 123_456), of('busy', early), of('busy', late + 654_321)];
    const batches = partition('p', clicks, 512);
    await warehouse().apply(batches);
    await warehouse().recountAll({ countFrom: late, producers: ['p'] }, inChunks(batches));
    expect((await warehouse().total(link('quiet'))).lastClickAt).toBe(early + 123_456);
    expect((await warehouse().total(link('busy'))).lastClickAt).toBe(late + 654_321);
  });

  test('a recount that fails leaves everything as it was', async () => {
    const clicks = randomTraffic(seededRandom(17), 200);
    const batches = partition('p', clicks, 100);
    await warehouse().apply(batches);
    const before = await everythingIn(warehouse());
    async function* failing() {
      yield batches.slice(0, 1);
      throw new Error('log unreadable');
    }
    await expect(warehouse().recountAll({ countFrom: 0, producers: ['p'] }, failing())).rejects.toThrow(
      'log unreadable',
    );
    expect(await everythingIn(warehouse())).toEqual(before);
    expect(await warehouse().positions()).toEqual(new Map([['p', 200]]));
    await warehouse().apply(partition('q', clicks, 100));
    expect(await mismatches(warehouse(), new Truth([...clicks, ...clicks]), someQuestions)).toEqual([]);
  });
}
