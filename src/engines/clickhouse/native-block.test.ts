import { beforeAll, expect, test } from 'bun:test';
import { sharedClickHouse } from '../../../test/kit/engines/clickhouse.ts';
import { patientClickHouse } from '../../../test/kit/engines/clickhouse-client.ts';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import type { ClickHouse } from './clickhouse.ts';
import {
  longColumn,
  type NativeColumn,
  nativeBlock,
  numberColumn,
  wordColumn,
  wordsColumn,
} from './native-block.ts';

describeWithEngine('clickhouse', 'columns sent as bytes', () => {
  let clickHouse: ClickHouse;
  let tables = 0;
  beforeAll(async () => {
    clickHouse = patientClickHouse((await sharedClickHouse()).freshDatabaseUrl());
    await clickHouse.ensureDatabase();
  });

  /** What ClickHouse has of a column after blocks of it were sent. */
  async function kept(
    type: string,
    ...blocks: (readonly [rows: number, column: NativeColumn])[]
  ): Promise<unknown[]> {
    const table = `kept_${tables++}`;
    await clickHouse.run(`CREATE TABLE ${table} (word ${type}) ENGINE = Memory`);
    const body = Buffer.concat(blocks.flatMap(([rows, column]) => nativeBlock(rows, [column])));
    await clickHouse.insert({ table, format: 'Native', body });
    const rows = await clickHouse.rows<{ word: unknown }>(`SELECT word FROM ${table}`);
    return rows.map(({ word }) => word);
  }
  const texts = (count: number): string[] => Array.from({ length: count }, (_, n) => `text ${n}`);

  test('numbers of each width arrive as they were', async () => {
    expect(await kept('UInt8', [3, numberColumn('word', 'UInt8', Uint8Array.of(0, 10, 255))])).toEqual([
      0, 10, 255,
    ]);
    const words = Uint32Array.of(0, 0x0a0a_0a0a, 0xffff_ffff);
    expect(await kept('UInt32', [3, numberColumn('word', 'UInt32', words)])).toEqual([...words]);
    const long = longColumn('word', 'UInt64', Uint32Array.of(1, 0xffff_ffff), Uint32Array.of(0, 0x1f_ffff));
    expect(await kept('UInt64', [2, long])).toEqual([1, Number.MAX_SAFE_INTEGER]);
  });

  test.each([1, 256, 257, 70_000])('of %p texts each row has the right one', async count => {
    const all = texts(count);
    const positions = Uint32Array.from(all, (_, row) => count - 1 - row);
    const column = wordColumn('word', all, positions);
    expect(await kept('LowCardinality(String)', [count, column])).toEqual(all.toReversed());
  });

  test('a text may hold anything', async () => {
    const odd = ['', '\n\n', "it's \\ \0 €", '𝄞'.repeat(100)];
    const column = wordColumn('word', odd, Uint32Array.of(0, 1, 2, 3));
    expect(await kept('LowCardinality(String)', [4, column])).toEqual(odd);
  });

  test('lists keep their words and their ends, empty ones too', async () => {
    const lists = wordsColumn('word', ['a', 'b'], Uint32Array.of(0, 2, 2, 3), Uint32Array.of(0, 1, 1));
    const none = wordsColumn('word', [], Uint32Array.of(0, 0), new Uint32Array());
    expect(await kept('Array(LowCardinality(String))', [4, lists], [2, none], [4, lists])).toEqual([
      [],
      ['a', 'b'],
      [],
      ['b'],
      [],
      [],
      [],
      ['a', 'b'],
      [],
      ['b'],
    ]);
  });
});
