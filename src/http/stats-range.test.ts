import { describe, expect, test } from 'bun:test';
import { bucketStarts } from '../base/zone.ts';
import { seriesBucketsMax } from '../clicks/stats.ts';
import { problemOf, queryOf } from './routes/fake-stats-routes.ts';

describe('the range to compare with', () => {
  const compared = async (text: string) => {
    const { from, to, comparison, interval, timeZone } = await queryOf(text);
    const shown = (at: number): string => new Date(at).toISOString();
    const startsIn = (range: { from: number; to: number }) =>
      bucketStarts(range.from, range.to, interval, timeZone, seriesBucketsMax);
    return {
      to: comparison && [shown(comparison.from), shown(comparison.to)],
      buckets: [startsIn({ from, to }).length, comparison && startsIn(comparison).length],
      touches: comparison?.to === from,
    };
  };

  test('is none unless it was asked for', async () => {
    expect((await queryOf('')).comparison).toBeUndefined();
  });

  test.each([
    'interval=day&timeZone=UTC',
    'interval=hour&timeZone=Asia/Kathmandu',
    'interval=minute&timeZone=UTC',
    'interval=day&timeZone=Europe/Berlin&from=2026-03-20T00:00Z&to=2026-04-08T00:00Z',
    'interval=hour&timeZone=Europe/Berlin&from=2026-03-29T00:00Z&to=2026-03-30T00:00Z',
    'interval=hour&timeZone=Australia/Lord_Howe&from=2026-04-04T00:00Z&to=2026-04-07T00:00Z',
    'interval=hour&timeZone=Australia/Lord_Howe&from=2026-04-05T00:00Z&to=2026-04-07T00:00Z',
  ])('previous: as many buckets, just before: ?%s', async text => {
    const { buckets, touches } = await compared(`${text}&compare=previous`);
    expect(touches).toBe(true);
    expect(buckets[1]).toBe(buckets[0]!);
  });

  test.each([
    ['interval=day&from=2026-05-01&to=2026-06-01', ['2025-05-01T00:00:00.000Z', '2025-06-01T00:00:00.000Z']],
    ['interval=day&from=2025-01-01&to=2026-01-01', ['2024-01-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z']],
    ['interval=day&from=2024-02-29&to=2024-03-01', ['2023-02-28T00:00:00.000Z', '2023-03-01T00:00:00.000Z']],
    ['interval=day&from=2024-02-28&to=2024-02-29', ['2023-02-28T00:00:00.000Z', '2023-03-01T00:00:00.000Z']],
    [
      'interval=hour&from=2024-02-29T10:00Z&to=2024-02-29T12:00Z',
      ['2023-02-28T10:00:00.000Z', '2023-02-28T12:00:00.000Z'],
    ],
    // The clocks went forward on the 29th of March in 2026, and on the 30th in 2025.
    [
      'interval=day&timeZone=Europe/Berlin&from=2026-03-29T12:00Z&to=2026-03-30T12:00Z',
      ['2025-03-28T23:00:00.000Z', '2025-03-30T22:00:00.000Z'],
    ],
    // Midnight of that day does not exist in Havana.
    [
      'interval=day&timeZone=America/Havana&from=2026-03-09T12:00Z&to=2026-03-09T13:00Z',
      ['2025-03-09T05:00:00.000Z', '2025-03-10T04:00:00.000Z'],
    ],
    [
      'interval=day&timeZone=Asia/Kathmandu&from=2026-05-31T18:15Z&to=2026-06-01T18:15Z',
      ['2025-05-31T18:15:00.000Z', '2025-06-01T18:15:00.000Z'],
    ],
  ])('year: the same days of the year before: ?%s', async (text, range) => {
    expect((await compared(`${text}&compare=year`)).to).toEqual(range);
  });

  test('any other, in whole buckets', async () => {
    const range = 'compareFrom=2026-01-01T10:30Z&compareTo=2026-01-03T00:00Z';
    expect((await compared(range)).to).toEqual(['2026-01-01T00:00:00.000Z', '2026-01-03T00:00:00.000Z']);
    const snake = 'compare_from=2026-01-01T10:30Z&compare_to=2026-01-03T00:00Z';
    expect((await compared(snake)).to).toEqual(['2026-01-01T00:00:00.000Z', '2026-01-03T00:00:00.000Z']);
  });

  test.each([
    ['compare=week', 'compare'],
    ['compare=previous&compareFrom=2026-01-01&compareTo=2026-01-02', 'compare'],
    ['compareFrom=2026-01-01', 'compareTo'],
    ['compareTo=2026-01-01', 'compareFrom'],
    ['compareFrom=2026-01-02&compareTo=2026-01-02', 'compareFrom'],
    ['compareFrom=1990-01-01&compareTo=2026-01-02', 'compareFrom'],
    ['compare=previous&from=1970-01-02&to=1970-02-02', 'compare'],
    ['interval=minute&compareFrom=2016-01-01T00:00Z&compareTo=2016-01-01T01:00Z', 'compareFrom'],
  ])('?%s is rejected, and the problem names %s', async (text, field) => {
    expect(await problemOf(queryOf(text))).toMatchObject({ code: 'invalid_request', fields: { field } });
  });
});
