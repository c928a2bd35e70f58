import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type DynamoLinks, freshDynamoLinks } from '../../../../test/kit/dynamo-links.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { until } from '../../../../test/kit/until.ts';
import { systemClock } from '../../../base/clock.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import { ChangeReader, ChangeWriter, FeedNumbers, holeTimeoutMs } from './feed.ts';
import { changeKey } from './keys.ts';

describeWithEngine('dynamodb', 'the change feed in DynamoDB', () => {
  let links: DynamoLinks;
  let dynamo: Dynamo;
  let nowMs: number;
  let writer: ChangeWriter;
  let reader: ChangeReader;
  let numbers: FeedNumbers;
  /** Timers are real; the wall clock is set by the test. */
  const clock = { ...systemClock, now: () => nowMs, monotonicMs: () => nowMs };
  beforeEach(async () => {
    nowMs = Date.UTC(2026, 5, 1);
    links = await freshDynamoLinks();
    dynamo = links.dynamo;
    writer = new ChangeWriter(dynamo, clock);
    reader = new ChangeReader(dynamo, clock);
    numbers = new FeedNumbers(dynamo, clock);
  });
  afterEach(() => links.store.close());

  const note = (code: string, at = nowMs) =>
    writer.note({ at, code, claim: undefined }, entries => dynamo.transact(entries));
  const read = async (afterSeq: number, limit = 10) => {
    const { changes, ...rest } = await reader.read(afterSeq, limit);
    return { ...rest, codes: changes.map(({ code }) => code) };
  };

  test('changes after a number that is taken and not written are reported at once and again later', async () => {
    await note('a');
    const { seq } = await numbers.take();
    await note('b');
    expect(await read(0)).toEqual({ codes: ['a', 'b'], lastSeq: 3, endSeq: 3, gap: false, resumeSeq: 1 });
    await dynamo.write({ put: { ...changeKey(seq), code: 'late', at: nowMs, takenAt: nowMs } });
    expect(await read(1)).toEqual({ codes: ['late', 'b'], lastSeq: 3, endSeq: 3, gap: false, resumeSeq: 3 });
    expect(await read(3)).toEqual({ codes: [], lastSeq: 3, endSeq: 3, gap: false, resumeSeq: 3 });
  });

  test('readers wait for the newest number like for any other', async () => {
    await note('a');
    await numbers.take();
    expect(await read(0)).toEqual({ codes: ['a'], lastSeq: 2, endSeq: 2, gap: false, resumeSeq: 1 });
    expect(await read(1)).toEqual({ codes: [], lastSeq: 2, endSeq: 2, gap: false, resumeSeq: 1 });
  });

  test('a number that stays empty is skipped when no process can write under it any more', async () => {
    await numbers.take();
    await note('b');
    expect((await read(0)).resumeSeq).toBe(0);
    nowMs += holeTimeoutMs - 1;
    expect((await read(0)).resumeSeq).toBe(0);
    await numbers.take();
    nowMs += 1;
    // The first is old by now; the one just taken is not.
    expect(await read(0)).toMatchObject({ codes: ['b'], lastSeq: 3, resumeSeq: 2 });
    nowMs += holeTimeoutMs;
    expect(await read(2)).toMatchObject({ codes: [], resumeSeq: 3 });
  });

  test('a rejected change leaves no empty number behind', async () => {
    await note('a');
    await writer.note({ at: nowMs, code: 'refused', claim: undefined }, async () => ({
      kind: 'refused',
      failed: [0],
    }));
    await note('b');
    await until('the second change', async () => (await dynamo.get(changeKey(2))) !== undefined);
    expect(await read(0)).toEqual({ codes: ['a', 'b'], lastSeq: 3, endSeq: 3, gap: false, resumeSeq: 3 });
  });

  test('a change that took too long is reported again under a number that no reader has skipped', async () => {
    await writer.note({ at: nowMs, code: 'slow', claim: undefined }, entries => {
      nowMs += holeTimeoutMs;
      return dynamo.transact(entries);
    });
    expect(await read(0)).toMatchObject({ codes: ['slow', 'slow'], resumeSeq: 2 });
    expect(await read(1)).toMatchObject({ codes: ['slow'], resumeSeq: 2 });
  });

  test('a new reader starts before a number whose change may still arrive', async () => {
    await note('a');
    await numbers.take();
    await note('b');
    const { lastSeq, resumeSeq } = await reader.read(Number.MAX_SAFE_INTEGER, 1);
    expect([lastSeq, resumeSeq]).toEqual([3, 1]);
    nowMs += 10 * holeTimeoutMs;
    await note('c');
    // The empty number is older than the entry written after it, and that is old by now.
    expect((await reader.read(Number.MAX_SAFE_INTEGER, 1)).resumeSeq).toBe(4);
    await numbers.take();
    await note('d');
    expect((await reader.read(Number.MAX_SAFE_INTEGER, 1)).resumeSeq).toBe(4);
    nowMs += 10 * holeTimeoutMs;
    expect((await reader.read(Number.MAX_SAFE_INTEGER, 1)).resumeSeq).toBe(6);
  });

  test('an empty number does not hold back a full page of changes after it', async () => {
    await numbers.take();
    const codes = Array.from({ length: 25 }, (_, n) => `c${n}`);
    for (const code of codes) await note(code);
    expect(await read(0, 5)).toEqual({ codes, lastSeq: 26, endSeq: 26, gap: false, resumeSeq: 0 });
    expect(await read(1, 5)).toMatchObject({ codes: codes.slice(0, 5), endSeq: 6, resumeSeq: 6 });
  });

  test('a page that ends before the feed says so, behind an empty number and among filled ones', async () => {
    await numbers.take();
    for (let n = 0; n < 25; n += 1) await note(`c${n}`);
    expect(await read(0, 2)).toMatchObject({ lastSeq: 26, endSeq: 21, resumeSeq: 0 });
    expect(await read(21, 10)).toMatchObject({ lastSeq: 26, endSeq: 26, resumeSeq: 26 });
    await dynamo.write({ put: { ...changeKey(27), at: nowMs, takenAt: nowMs } });
    await numbers.take();
    await note('last');
    expect(await read(25, 2)).toMatchObject({ codes: ['c24'], lastSeq: 28, endSeq: 27, resumeSeq: 27 });
  });

  test('nothing is pruned past a number whose change may still arrive', async () => {
    await note('a', 1);
    await numbers.take();
    await note('b', 1);
    expect(await reader.prune(2, 10)).toBe(1);
    expect(await read(0)).toMatchObject({ codes: ['b'], gap: true, resumeSeq: 1 });
    expect(await read(1)).toMatchObject({ codes: ['b'], gap: false, resumeSeq: 1 });
    nowMs += holeTimeoutMs;
    expect(await reader.prune(2, 10)).toBe(1);
    expect(await read(1)).toMatchObject({ codes: [], gap: true, resumeSeq: 3 });
  });

  test('concurrent callers share the requests for numbers, and each gets its own', async () => {
    let asked = 0;
    const counting = new FeedNumbers(
      {
        ...dynamo,
        update(item, gives) {
          asked += 1;
          return dynamo.update(item, gives);
        },
      } as Dynamo,
      clock,
    );
    const taken = await Promise.all(Array.from({ length: 300 }, () => counting.take()));
    expect(taken.map(({ seq }) => seq).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 300 }, (_, n) => n + 1),
    );
    expect(asked).toBe(1);
  });
});
