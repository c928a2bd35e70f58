/** What is asked and answered about clicks. */
import { z } from 'zod';
import { isTimeZone } from '../base/zone.ts';
import { seriesBucketsMax } from '../clicks/stats.ts';
import { codePattern } from '../links/link.ts';
import { moment as anyMoment, text, upTo } from './schemas.ts';

const lastYearMs = Date.parse('9999-01-01T00:00:00Z');

export const moment = anyMoment
  // Whole buckets around it must still be times with a year of four digits.
  .refine(timeMs => timeMs >= 0 && timeMs < lastYearMs, 'must lie between the years 1970 and 9998');

const rangeFields = {
  from: moment.optional().meta({ description: 'Start of the range; the last 30 days unless given.' }),
  to: moment.optional().meta({ description: 'End of the range, exclusive; now unless given.' }),
};

const statsFields = {
  ...rangeFields,
  from: moment.optional().meta({
    description:
      'Start of the range; unless given it is the last 30 days, today included, or 24 hours of minutes.',
  }),
  interval: z
    .enum(['minute', 'hour', 'day'])
    .default('day')
    .meta({
      description: `Width of the buckets, of which a series has at most ${seriesBucketsMax}. The range is widened to whole ones.`,
    }),
  timeZone: upTo(64)
    .refine(isTimeZone, 'must be the name of a time zone, such as Europe/Berlin')
    .default('UTC')
    .meta({ description: 'Where hours and days begin.', examples: ['Europe/Berlin'] }),
};

export const statsParameters = z.strictObject(statsFields);

const codeLengthMax = 64;
/** Links in one question at the most. */
const statsCodesMax = 100;

const codes = upTo(statsCodesMax * (codeLengthMax + ','.length))
  .transform(list => [...new Set(list.split(','))])
  .refine(list => list.length <= statsCodesMax, `names at most ${statsCodesMax} links`)
  .refine(list => list.every(code => codePattern.test(code)), 'must be codes separated by commas')
  .optional()
  .meta({ description: 'Only these links, separated by commas.', examples: ['spring,aZ3kQ9x'] });

export const accountStatsParameters = z.strictObject({
  ...statsFields,
  codes,
  tag: text(1, 50).optional().meta({ description: 'Only clicks on links that had this tag.' }),
});

export const linkTotalsParameters = z.strictObject({ codes });

export const exportParameters = z.strictObject({
  ...rangeFields,
  format: z
    .enum(['ndjson', 'csv'])
    .default('ndjson')
    .meta({ description: 'One JSON object per line, or a table.' }),
});

const time = z.iso.datetime();
const count = z.int().min(0);

const valueCounts = (description: string) =>
  z.array(z.strictObject({ value: z.string(), clicks: count })).meta({ description });

export const statsAnswer = z
  .strictObject({
    from: time.meta({ description: 'Start of the first bucket.' }),
    to: time.meta({ description: 'End of the last bucket.' }),
    interval: z.enum(['minute', 'hour', 'day']),
    timeZone: z.string(),
    minutesFrom: time.meta({ description: 'Single minutes are kept from here on.' }),
    totalClicks: count.meta({ description: 'People’s clicks of all time, whatever the range.' }),
    botClicks: count.meta({
      description: 'Visits of bots, previews, prefetches and HEAD requests, of all time.',
    }),
    suspiciousClicks: count.meta({
      description: 'How many of `totalClicks` came at a pace that people do not have.',
    }),
    uniqueVisitors: count.meta({ description: 'The same as `range.visitors`.' }),
    range: z
      .strictObject({
        clicks: count.meta({ description: 'People’s clicks in the range; what `series` adds up to.' }),
        botClicks: count,
        suspiciousClicks: count,
        visitors: count.meta({
          description:
            'Different visitors in the range, within about 2%, and never more than `clicks`. A visitor of two days counts twice.',
        }),
      })
      .meta({ description: 'Sums of the range from `from` to `to`.' }),
    clicks24h: count.meta({ description: 'People’s clicks in the last 24 hours, whatever the range.' }),
    series: z.array(
      z.strictObject({
        start: time,
        clicks: count,
        botClicks: count,
        suspiciousClicks: count,
        filling: z.boolean().meta({ description: 'More clicks of this bucket may still be on their way.' }),
      }),
    ),
    listsFrom: time.meta({ description: 'The lists below cover whole UTC days: the first of them.' }),
    listsTo: time.meta({ description: 'The end of the last of them, which may be later than `to`.' }),
    topReferrers: valueCounts('Domains people came from; empty for direct visits.'),
    topCountries: valueCounts('ISO 3166-1 codes; empty where unknown.'),
    devices: valueCounts('`desktop`, `mobile`, `tablet`, `tv`, `bot` or `other`.'),
    browsers: valueCounts('Browser families; empty where unknown.'),
    os: valueCounts('Operating systems; empty where unknown.'),
    topLinks: valueCounts('The most clicked links, by code; empty when the question was about single links.'),
    lastUpdatedAt: time.nullable().meta({ description: 'Time of the newest click counted; null for none.' }),
  })
  .meta({ id: 'Stats' });

export const linkTotalsAnswer = z.strictObject({
  links: z.array(
    z
      .strictObject({
        shortCode: z.string(),
        clicks: count.meta({ description: 'People’s clicks in all.' }),
        botClicks: count.meta({
          description: 'Visits of bots, previews, prefetches and HEAD requests in all.',
        }),
        suspiciousClicks: count.meta({
          description: 'How many of `clicks` came at a pace that people do not have.',
        }),
        lastClickAt: time.nullable().meta({ description: 'Time of the newest of them; null for none.' }),
      })
      .meta({ id: 'LinkTotal' }),
  ),
});
