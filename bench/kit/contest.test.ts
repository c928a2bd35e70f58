import { expect, test } from 'bun:test';
import { contestTable } from './contest.ts';
import { formatMeasure } from './measure.ts';

const turn = (perSecond: number, cpuUs: number) => ({
  requests: 1,
  perSecond,
  cpuUs,
  p50Ms: 1,
  p99Ms: 2,
  p999Ms: 3,
  maxMs: 4,
  residentMb: 50,
  anonymousMb: 40,
  mappedMb: 10,
});

test('a contender is compared with its baseline round by round, and above 1 is always better', () => {
  const { rows, columns } = contestTable(
    { title: '', against: { Terse: 'nginx', alone: 'nobody' } },
    {
      nginx: [turn(100, 10), turn(200, 5)],
      Terse: [turn(50, 20), turn(400, 1)],
      alone: [turn(1, 1), turn(1, 1)],
    },
  );
  const cells = rows.map(row =>
    row.slice(-2).map(cell => (typeof cell === 'string' ? cell : formatMeasure(cell))),
  );
  expect(columns.slice(-2)).toEqual(['rate to nginx', 'nginx CPU to its']);
  expect(cells).toEqual([
    ['–', '–'],
    ['1.25 (0.50..2.00)', '2.75 (0.50..5.00)'],
    ['–', '–'],
  ]);
});
