import { expect, test } from 'bun:test';
import { measure } from './measure.ts';
import { renderTable, tableRecord } from './table.ts';

const table = {
  title: 'Speed',
  columns: ['what', 'requests/s'],
  rows: [
    ['short', measure(5)],
    ['a longer name', measure([1000, 3000, 2000])],
  ],
  notes: ['One machine.'],
};

test('a table lines up words on the left and figures on the right', () => {
  expect(renderTable(table).split('\n')).toEqual([
    'Speed',
    '',
    'what                     requests/s',
    '-------------  --------------------',
    'short                             5',
    'a longer name  2,000 (1,000..3,000)',
    '* One machine.',
    '',
  ]);
});

test('a table for programs keeps the value of every round, and what was shown', () => {
  expect(tableRecord(table).rows[1]).toEqual([
    'a longer name',
    { median: 2000, values: [1000, 3000, 2000], text: '2,000 (1,000..3,000)' },
  ]);
});

test('a missing figure is null for programs and a dash for people', () => {
  const [[, none]] = tableRecord({ ...table, rows: [['none', measure([])]] }).rows as [[string, object]];
  expect(none).toEqual({ median: null, values: [], text: '–' });
  expect(
    JSON.parse(JSON.stringify(tableRecord({ ...table, rows: [['', measure(Number.NaN)]] }))).rows[0][1],
  ).toEqual({
    median: null,
    values: [null],
    text: '–',
  });
});
