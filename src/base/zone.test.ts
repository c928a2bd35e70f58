import { describe, expect, spyOn, test } from 'bun:test';
import { bucketStarts, endOf, isTimeZone, startOf, TooManyBucketsError, zoneOffsetMs } from './zone.ts';

const hourMs = 60 * 60_000;
const at = (iso: string): number => Date.parse(iso);
const iso = (time: number): string => new Date(time).toISOString();

describe('time zones', () => {
  test.each([
    ['UTC', '2026-06-01T12:00:00Z', 0],
    ['Europe/Berlin', '2026-06-01T12:00:00Z', 2],
    ['Europe/Berlin', '2026-12-01T12:00:00Z', 1],
    ['Asia/Kolkata', '2026-06-01T12:00:00Z', 5.5],
    ['Asia/Kathmandu', '2026-06-01T12:00:00Z', 5.75],
    ['America/St_Johns', '2026-01-01T12:00:00Z', -3.5],
    ['Pacific/Kiritimati', '2026-01-01T12:00:00Z', 14],
  ])('%s at %s is %d hours from UTC', (zone, time, hours) => {
    expect(zoneOffsetMs(at(time), zone)).toBe(hours * hourMs);
  });

  test('a day begins at local midnight', () => {
    expect(iso(startOf(at('2026-06-01T23:30:00Z'), 'day', 'Europe/Berlin'))).toBe('2026-06-01T22:00:00.000Z');
    expect(iso(startOf(at('2026-06-01T03:00:00Z'), 'day', 'America/New_York'))).toBe(
      '2026-05-31T04:00:00.000Z',
    );
    expect(iso(startOf(at('2026-06-01T12:34:56Z'), 'hour', 'Asia/Kolkata'))).toBe('2026-06-01T12:30:00.000Z');
    expect(iso(startOf(at('2026-06-01T12:34:56Z'), 'minute', 'Asia/Kolkata'))).toBe(
      '2026-06-01T12:34:00.000Z',
    );
  });

  test('days of 23 and 25 hours are one bucket each', () => {
    const lengths = (from: string, to: string) => {
      const starts = bucketStarts(at(from), at(to), 'day', 'Europe/Berlin', 100);
      return starts.slice(1).map((start, index) => (start - starts[index]!) / hourMs);
    };
    expect(lengths('2026-03-27T23:00:00Z', '2026-04-01T00:00:00Z')).toEqual([24, 23, 24, 24]);
    expect(lengths('2026-10-23T22:00:00Z', '2026-10-28T00:00:00Z')).toEqual([24, 25, 24, 24]);
  });

  test('buckets follow one another without a gap over a whole year, in every kind of zone', () => {
    for (const zone of [
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Asia/Kathmandu',
      'Australia/Lord_Howe',
      'Africa/Casablanca',
    ]) {
      const starts = bucketStarts(at('2026-01-01T00:00:00Z'), at('2027-01-01T00:00:00Z'), 'day', zone, 400);
      for (const [index, start] of starts.entries()) {
        expect(startOf(start, 'day', zone)).toBe(start);
        if (index > 0) expect(endOf(starts[index - 1]!, 'day', zone)).toBe(start);
      }
      expect(starts.length).toBeGreaterThanOrEqual(365);
      expect(starts.length).toBeLessThanOrEqual(366);
    }
  });

  test('the maximum number of days is allowed even when a clock change makes the range an hour longer', () => {
    const [from, to] = [at('2026-06-30T22:00:00Z'), at('2026-12-31T23:00:00Z')];
    expect(bucketStarts(from, to, 'day', 'Europe/Berlin', 184)).toHaveLength(184);
    expect(() => bucketStarts(from, to, 'day', 'Europe/Berlin', 183)).toThrow(TooManyBucketsError);
  });

  test('too many buckets are rejected before they are made', () => {
    expect(() => bucketStarts(0, 1e15, 'minute', 'UTC', 100)).toThrow(TooManyBucketsError);
  });

  test('a zone is prepared once, however its name is spelled', () => {
    const made = spyOn(Intl, 'DateTimeFormat');
    try {
      for (const name of [
        'America/Anchorage',
        'america/anchorage',
        'AMERICA/ANCHORAGE',
        'aMERICA/aNCHORAGE',
      ]) {
        expect(isTimeZone(name)).toBe(true);
        expect(zoneOffsetMs(at('2026-06-01T12:00:00Z'), name)).toBe(-8 * hourMs);
      }
      expect(made).toHaveBeenCalledTimes(1);
    } finally {
      made.mockRestore();
    }
  });

  test('every existing zone is made of quarter hours, so its name is accepted', () => {
    expect(Intl.supportedValuesOf('timeZone').filter(name => !isTimeZone(name))).toEqual([]);
  });

  test('offsets are not names, least of all those that are not whole quarter hours', () => {
    for (const name of ['+01:07', '+01:00', '-05:30', '+0107', '-00:00'])
      expect(isTimeZone(name)).toBe(false);
  });

  test('zone names are distinguished from other text', () => {
    expect(['UTC', 'Europe/Berlin'].map(isTimeZone)).toEqual([true, true]);
    expect(['', 'Mars/Olympus', '../etc', 'Europe/Berlin\0'].map(isTimeZone)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});
