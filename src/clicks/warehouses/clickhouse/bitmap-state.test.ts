import { beforeAll, expect, test } from 'bun:test';
import { sharedClickHouse } from '../../../../test/kit/engines/clickhouse.ts';
import { patientClickHouse } from '../../../../test/kit/engines/clickhouse-client.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { bitsOf } from './visitors.ts';

const bitCount = 300_000;

function numbersIn(bits: Uint32Array): number[] {
  const numbers: number[] = [];
  for (let number = 0; number < bits.length * 32; number += 1) {
    if ((bits[number >>> 5]! >>> (number & 31)) & 1) numbers.push(number);
  }
  return numbers;
}

describeWithEngine('clickhouse', 'bitmaps of ClickHouse', () => {
  let clickHouse: ClickHouse;
  beforeAll(async () => {
    clickHouse = patientClickHouse((await sharedClickHouse()).freshDatabaseUrl());
    await clickHouse.ensureDatabase();
  });

  /** What the engine has in its bitmap of some numbers, and what is read of it. */
  async function readOf(numbers: string): Promise<{ there: number[]; here: number[] }> {
    const [row] = await clickHouse.rows<{ state: string; numbers: number[] }>(`
      SELECT hex(kept) AS state, arraySort(bitmapToArray(kept)) AS numbers
      FROM (SELECT groupBitmapState(toUInt32(number)) AS kept FROM (${numbers}))`);
    return { there: row!.numbers, here: numbersIn(bitsOf(row!.state, bitCount)) };
  }

  test.each([
    ['nothing', 0, 'SELECT number FROM numbers(0)'],
    ['a few', 5, 'SELECT number * 70001 % 300000 AS number FROM numbers(5)'],
    ['too many to be kept one by one', 100, 'SELECT number * 2999 AS number FROM numbers(100)'],
    ['lists in several pieces', 3_000, 'SELECT number * 100 AS number FROM numbers(3000)'],
    ['a piece that is all bits', 32_768, 'SELECT number * 2 AS number FROM numbers(32768)'],
    [
      'lists beside bits',
      40_200,
      'SELECT if(number < 200, 200000 + number * 7, number - 200) AS number FROM numbers(40200)',
    ],
    ['all there is', 300_000, 'SELECT number FROM numbers(300000)'],
    ['the last', 1, 'SELECT 299999 AS number'],
  ])('are read to the last number: %s', async (_, count, numbers) => {
    const { there, here } = await readOf(numbers);
    expect(there.length).toBe(count);
    expect(here).toEqual(there);
  });

  test('are read when they were merged of many', async () => {
    const [row] = await clickHouse.rows<{ state: string; numbers: number[] }>(`
      SELECT hex(merged) AS state, arraySort(bitmapToArray(merged)) AS numbers FROM (
        SELECT groupBitmapMergeState(state) AS merged FROM (
          SELECT number % 30 AS day, groupBitmapState(toUInt32(cityHash64(number) % 200000)) AS state
          FROM numbers(90000) GROUP BY day))`);
    expect(row!.numbers.length).toBeGreaterThan(50_000);
    expect(numbersIn(bitsOf(row!.state, bitCount))).toEqual(row!.numbers);
  });
});

/** As other writers of Roaring bitmaps make them: numbers 10 to 19 and 65,540 to 65,542 as runs. */
const runs = [
  '3b300100',
  '03',
  '0000',
  '0900',
  '0100',
  '0200',
  '0100',
  '0a00',
  '0900',
  '0100',
  '0400',
  '0200',
];
const withRuns = `01${(runs.join('').length / 2).toString(16)}${runs.join('')}`;

test('runs are read number by number', () => {
  const expected = [...Array.from({ length: 10 }, (_, n) => 10 + n), 65_540, 65_541, 65_542];
  expect(numbersIn(bitsOf(withRuns, bitCount))).toEqual(expected);
});

test.each([
  ['of an unknown kind', '0700'],
  ['that is no Roaring bitmap', '0104ffffffff'],
  ['that ends too early', withRuns.slice(0, -2)],
  ['that ends before its pieces', '01083a30000001000000'],
  ['with a number beyond the last piece', '000100000010'],
  ['with nothing in it', ''],
])('a state %s is refused', (_, state) => {
  expect(() => bitsOf(state, bitCount)).toThrow();
});
