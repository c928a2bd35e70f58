/** Request and response schemas of click statistics, and of the check that every click was counted. */
import { z } from 'zod';
import { isTimeZone } from '../base/zone.ts';
import { type DimensionList, dimensions } from '../clicks/dimensions.ts';
import { seriesBucketsMax } from '../clicks/stats.ts';
import { codePattern } from '../links/link.ts';
import { moment as anyMoment, text, upTo } from './schemas.ts';

const lastYearMs = Date.parse('9999-01-01T00:00:00Z');

export const moment = anyMoment
  // Whole buckets around it must still have a four-digit year.
  .refine(timeMs => timeMs >= 0 && timeMs < lastYearMs, 'must lie between the years 1970 and 9998');

const rangeFields = {
  from: moment.optional().meta({ description: 'Start of the range; the last 30 days unless given.' }),
  to: moment.optional().meta({ description: 'End of the range, exclusive; now unless given.' }),
};

const statsFields = {
  ...rangeFields,
  from: moment.optional().meta({
    description: 'Start of the range. Default: the last 30 days, today included, or 24 hours for minutes.',
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
/** Maximum number of links in one query. */
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

const dimensionLists = Object.fromEntries(
  dimensions.map(({ list, doc }) => [list, valueCounts(doc)]),
) as Record<DimensionList, ReturnType<typeof valueCounts>>;

export const statsAnswer = z
  .strictObject({
    from: time.meta({ description: 'Start of the first bucket.' }),
    to: time.meta({ description: 'End of the last bucket.' }),
    interval: z.enum(['minute', 'hour', 'day']),
    timeZone: z.string(),
    minutesFrom: time.meta({ description: 'Single minutes are kept from here on.' }),
    totalClicks: count.meta({ description: 'Human clicks of all time, independent of the range.' }),
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
        filling: z.boolean().meta({ description: 'More clicks of this bucket may still arrive.' }),
      }),
    ),
    listsFrom: time.meta({ description: 'The lists below cover whole UTC days: the first of them.' }),
    listsTo: time.meta({ description: 'The end of the last of them, which may be later than `to`.' }),
    ...dimensionLists,
    lastUpdatedAt: time.nullable().meta({ description: 'Time of the newest click counted; null for none.' }),
  })
  .meta({ id: 'Stats' });

export const linkTotalsAnswer = z.strictObject({
  links: z.array(
    z
      .strictObject({
        shortCode: z.string(),
        clicks: count.meta({ description: 'Human clicks in total.' }),
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

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
/** Each hour costs requests to the stream. */
export const comparedDaysMax = 31;
const repairedDaysMax = 100;

export const reconcileParameters = z.strictObject({
  from: moment.optional().meta({ description: 'Start of the range; the last 30 days unless given.' }),
  to: moment.optional().meta({ description: 'End of the range, exclusive; now unless given.' }),
});

export const compareParameters = z.strictObject({
  from: moment.optional().meta({ description: 'Start of the range; 24 hours before its end unless given.' }),
  to: moment.optional().meta({ description: 'End of the range, exclusive; now unless given.' }),
  stream: z
    .enum(['true', 'false'])
    .default('false')
    .transform(word => word === 'true')
    .meta({ description: 'Whether clicks in the stream are counted, too. All of it since then is read.' }),
});

const wholeHour = moment.refine(timeMs => timeMs % hourMs === 0, 'must be the start of an hour');

export const repairParameters = z
  .strictObject({
    from: wholeHour.optional().meta({
      description: 'Start of the first hour to recount. Without it everything that is kept is recounted.',
    }),
    to: wholeHour.optional().meta({ description: 'End of the last hour.' }),
  })
  .refine(
    ({ from, to }) => (from === undefined) === (to === undefined),
    'names from without to, or to without from',
  )
  .refine(
    ({ from = 0, to = hourMs }) => from < to && to - from <= repairedDaysMax * dayMs,
    `must be a range of at most ${repairedDaysMax} days that ends after it begins`,
  );

const account = {
  recorded: count,
  dropped: count.meta({ description: 'Recorded but dropped before they were stored.' }),
  duplicates: count.meta({ description: 'Stored twice and counted once.' }),
  missing: count.meta({ description: 'Recorded by a process that died before it stored them.' }),
};
const producerAccount = {
  ...account,
  produced: count,
  pending: count.meta({ description: 'Not stored yet.' }),
  settling: z.boolean().meta({
    description: 'Whether the numbers come from different moments. If not, they add up to what was produced.',
  }),
};
const settling = z
  .boolean()
  .meta({ description: 'Clicks of this hour may still arrive, so its numbers may differ.' });
const reconciliation = {
  drift: z
    .number()
    .meta({ description: 'Share of the clicks that were lost, in the listed hours that are not settling.' }),
  totals: z.strictObject(producerAccount),
  producers: z.array(z.strictObject({ producer: z.string(), alive: z.boolean(), ...producerAccount })),
  hours: z.array(z.strictObject({ hour: time, producer: z.string(), ...account, settling })),
};

export const reconcileAnswer = z.strictObject(reconciliation).meta({ id: 'Reconciliation' });

export const repairAnswer = z
  .strictObject({
    ...reconciliation,
    repairedClicks: count
      .nullable()
      .meta({ description: 'Clicks in the hours of the range; null when everything was recounted.' }),
  })
  .meta({ id: 'Repair' });

export const compareAnswer = z
  .strictObject({
    hours: z.array(
      z.strictObject({
        hour: time,
        noted: count.meta({ description: 'Clicks that processes saw: recorded, dropped or missing.' }),
        dropped: account.dropped,
        missing: account.missing,
        recorded: count.meta({ description: 'Clicks that were counted, as the ledger has it.' }),
        counted: count.nullable().meta({
          description:
            'What the counts of all links add up to, deleted clicks included; null for an hour that is too old.',
        }),
        kept: count.nullable().meta({ description: 'Single clicks in the warehouse, if it keeps them.' }),
        inStream: count.nullable().meta({
          description: 'Clicks in the stream; null unless they were asked for and are still there.',
        }),
        uncounted: count.nullable().meta({
          description: 'Messages of that hour that are not counted yet; null where the stream cannot tell.',
        }),
        settling,
        drift: z
          .number()
          .meta({ description: 'Share of the clicks that were lost, or that the numbers disagree about.' }),
      }),
    ),
  })
  .meta({ id: 'HourComparison' });
