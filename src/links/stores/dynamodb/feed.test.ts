import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type DynamoLinks, freshDynamoLinks } from '../../../../test/kit/dynamo-links.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { systemClock } from '../../../base/clock.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import { ChangeWriter, holePatienceMs } from './feed.ts';
import { FeedNumbers } from './feed-numbers.ts';
import { ChangeReader } from './feed-reader.ts';
import { changeKey } from './keys.ts';

describeWithEngine('dynamodb', 'the change feed in DynamoDB', () => {
  let links: DynamoLinks;
  let dynamo: Dynamo;
  let nowMs: number;
  let writer: ChangeWriter;
  let reader: ChangeReader;
  let numbers: FeedNumbers;
  /** Timers are real; the time that is told is ours to move. */
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
    writer.note({ at, code, claim: undefined }, entry => dynamo.transact([entry]));
  const read = async (afterSeq: number, limit = 10) => {
    const { changes, ...rest } = await reader.read(afterSeq, limit);
    return { ...rest, codes: changes.map(({ code }) => code) };
  };

  test('behind a number that is taken and not written, changes are told at once and again later', async () => {
    await note('a');
    const { seq } = await numbers.take();
    await note('b');
    expect(await read(0)).toEqual({ codes: ['a', 'b'], lastSeq: 3, gap: false, resumeSeq: 1 });
    await dynamo.write({ put: { ...changeKey(seq), code: 'late', at: nowMs, takenAt: nowMs } });
    expect(await read(1)).toEqual({ codes: ['late', 'b'], lastSeq: 3, gap: false, resumeSeq: 3 });
    expect(await read(3)).toEqual({ codes: [], lastSeq: 3, gap: false, resumeSeq: 3 });
  });

  test('the newest number is waited for as any other', async () => {
    await note('a');
    await numbers.take();
    expect(await read(0)).toEqual({ codes: ['a'], lastSeq: 2, gap: false, resumeSeq: 1 });
    expect(await read(1)).toEqual({ codes: [], lastSeq: 2, gap: false, resumeSeq: 1 });
  });

  test('a number that stays empty is passed over when nobody can write under it any more', async () => {
    await numbers.take();
    await note('b');
    expect((await read(0)).resumeSeq).toBe(0);
    nowMs += holePatienceMs - 1;
    expect((await read(0)).resumeSeq).toBe(0);
    await numbers.take();
    nowMs += 1;
    // The first is old by now; the one just taken is not.
    expect(await read(0)).toMatchObject({ codes: ['b'], lastSeq: 3, resumeSeq: 2 });
    nowMs += holePatienceMs;
    expect(await read(2)).toMatchObject({ codes: [], resumeSeq: 3 });
  });

  test('a change that was refused leaves no empty number behind', async () => {
    await note('a');
    await writer.note({ at: nowMs, code: 'refused', claim: undefined }, async () => ({
      kind: 'refused',
      failed: [0],
    }));
    await note('b');
    while ((await dynamo.get(changeKey(2))) === undefined) await Bun.sleep(5);
    expect(await read(0)).toEqual({ codes: ['a', 'b'], lastSeq: 3, gap: false, resumeSeq: 3 });
  });

  test('a change that took too long is told again under a number that nobody has passed over', async () => {
    await writer.note({ at: nowMs, code: 'slow', claim: undefined }, entry => {
      nowMs += holePatienceMs;
      return dynamo.transact([entry]);
    });
    expect(await read(0)).toMatchObject({ codes: ['slow', 'slow'], resumeSeq: 2 });
    expect(await read(1)).toMatchObject({ codes: ['slow'], resumeSeq: 2 });
  });

  test('who begins now begins before a number whose change may still come', async () => {
    await note('a');
    await numbers.take();
    await note('b');
    const { lastSeq, resumeSeq } = await reader.read(Number.MAX_SAFE_INTEGER, 1);
    expect([lastSeq, resumeSeq]).toEqual([3, 1]);
    nowMs += 10 * holePatienceMs;
    await note('c');
    // The empty number is older than what was written after it, and that is old by now.
    expect((await reader.read(Number.MAX_SAFE_INTEGER, 1)).resumeSeq).toBe(4);
    await numbers.take();
    await note('d');
    expect((await reader.read(Number.MAX_SAFE_INTEGER, 1)).resumeSeq).toBe(4);
    nowMs += 10 * holePatienceMs;
    expect((await reader.read(Number.MAX_SAFE_INTEGER, 1)).resumeSeq).toBe(6);
  });

  test('an empty number does not keep a page full of changes from those behind it', async () => {
    await numbers.take();
    const codes = Array.from({ length: 25 }, (_, n) => `c${n}`);
    for (const code of codes) await note(code);
    expect(await read(0, 5)).toEqual({ codes, lastSeq: 26, gap: false, resumeSeq: 0 });
    expect(await read(1, 5)).toMatchObject({ codes: codes.slice(0, 5), resumeSeq: 6 });
  });

  test('nothing is pruned past a number whose change may still come', async () => {
    await note('a', 1);
    await numbers.take();
    await note('b', 1);
    expect(await reader.prune(2, 10)).toBe(1);
    expect(await read(0)).toMatchObject({ codes: ['b'], gap: true, resumeSeq: 1 });
    expect(await read(1)).toMatchObject({ codes: ['b'], gap: false, resumeSeq: 1 });
    nowMs += holePatienceMs;
    expect(await reader.prune(2, 10)).toBe(1);
    expect(await read(1)).toMatchObject({ codes: [], gap: true, resumeSeq: 3 });
  });

  test('many who ask for numbers at once share the asking, and each gets one of its own', async () => {
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
    expect(asked).toBe(2);
  });
});
