/** Request and response schemas of click statistics, and of tokens for them. */
import { z } from 'zod';
import { isTimeZone } from '../base/zone.ts';
import { clickSignals, visitKinds } from '../clicks/click.ts';
import { type DimensionList, type DimensionName, dimensions, filterIn } from '../clicks/dimensions.ts';
import { listedMax, seriesBucketsMax } from '../clicks/stats.ts';
import { referrerLengthMax } from '../clicks/steps/referrer.ts';
import { codePattern } from '../links/link.ts';
import { moment as anyMoment, linkAnswer, text, upTo, wholeNumber } from './schemas.ts';

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

export const filtersMax = 10;
const filterValuesMax = 50;
const filterValueLengthMax = 200;
/** In a whole parameter. */
const filterLengthMax = 8_192;

const filter = (doc: string, lengthMax: number) =>
  // Every character of a value may be escaped.
  text(0, Math.min(filterLengthMax, '!'.length + filterValuesMax * (2 * lengthMax + ','.length)))
    .transform(filterIn)
    .refine(({ values }) => values.length <= filterValuesMax, `must have at most ${filterValuesMax} values`)
    .refine(
      ({ values }) => values.every(value => value.length <= lengthMax),
      `must have values of at most ${lengthMax} characters`,
    )
    .optional()
    .meta({ description: `Only clicks with one of these values, separated by commas. ${doc}` });

type FilterField = ReturnType<typeof filter>;

/** One parameter per dimension. */
const filterFieldsOf = <Name extends DimensionName>(
  named: readonly { readonly name: Name; readonly doc: string }[],
): Record<Name, FilterField> =>
  Object.fromEntries(
    named.map(({ name, doc }) => [
      name,
      filter(doc, name === 'referrerUrl' ? referrerLengthMax : filterValueLengthMax),
    ]),
  ) as Record<Name, FilterField>;

const linkFilters = filterFieldsOf(dimensions.filter(({ isOfLinks }) => isOfLinks));
const accountFilters = filterFieldsOf(dimensions);

export type FilterParameters = Partial<Record<DimensionName, z.output<FilterField>>>;

const compareFields = {
  compare: z.enum(['previous', 'year']).optional().meta({
    description:
      'Also the same number of buckets just before the range, or the same days of the year before, as `comparison`.',
  }),
  compareFrom: moment.optional().meta({
    description:
      'Start of any other range to compare with; needs `compareTo`. It is widened to whole buckets.',
  }),
  compareTo: moment.optional().meta({ description: 'End of that range, exclusive.' }),
};

const pageFields = {
  limit: wholeNumber({ min: 1, max: 1_000, default: 100 }).meta({ description: 'Values per page.' }),
  cursor: upTo(128).optional().meta({ description: '`nextCursor` of the page before; opaque.' }),
  search: text(0, filterValueLengthMax)
    .default('')
    .meta({ description: 'Only values that contain this, in upper or lower case.', default: '' }),
};

const token = upTo(64)
  .optional()
  .meta({ description: 'From the owner of the link, for statistics that are not public.' });

export const statsParameters = z.strictObject({ ...statsFields, ...compareFields, ...linkFilters, token });
export const breakdownParameters = z.strictObject({ ...statsFields, ...pageFields, ...linkFilters, token });

const codeLengthMax = 64;
/** Maximum number of links in one query. */
const statsCodesMax = 100;

const codes = upTo(statsCodesMax * (codeLengthMax + ','.length))
  .transform(list => [...new Set(list.split(','))])
  .refine(list => list.length <= statsCodesMax, `names at most ${statsCodesMax} links`)
  .refine(list => list.every(code => codePattern.test(code)), 'must be codes separated by commas')
  .optional()
  .meta({ description: 'Only these links, separated by commas.', examples: ['spring,aZ3kQ9x'] });

const scopeFields = {
  codes,
  tag: text(1, 50).optional().meta({ description: 'Only clicks on links that had this tag.' }),
};

export const accountStatsParameters = z.strictObject({
  ...statsFields,
  ...scopeFields,
  ...compareFields,
  ...accountFilters,
});
export const accountBreakdownParameters = z.strictObject({
  ...statsFields,
  ...scopeFields,
  ...pageFields,
  ...accountFilters,
});

const recentFields = {
  ...rangeFields,
  limit: wholeNumber({ min: 1, max: 200, default: 50 }).meta({ description: 'Clicks per page.' }),
  cursor: pageFields.cursor,
};
export const recentParameters = z.strictObject({ ...recentFields, ...linkFilters });
export const accountRecentParameters = z.strictObject({ ...recentFields, ...scopeFields, ...accountFilters });

const dailyDaysMax = 31;

export const linkTotalsParameters = z.strictObject({
  codes,
  days: wholeNumber({ min: 0, max: dailyDaysMax, default: 0 }).meta({
    description: 'Also the clicks of each of the last days, today included, as `daily`.',
  }),
  timeZone: statsFields.timeZone,
});

export const exportParameters = z.strictObject({
  from: moment.optional().meta({ description: 'Start of the range; the first click unless given.' }),
  to: moment.optional().meta({ description: 'End of the range, exclusive; the last click unless given.' }),
  ...linkFilters,
  format: z
    .enum(['ndjson', 'csv'])
    .default('ndjson')
    .meta({ description: 'One JSON object per line, or a table.' }),
});

const time = z.iso.datetime();
const count = z.int().min(0);

const valueCount = z.strictObject({
  value: z.string(),
  clicks: count.meta({ description: 'People’s clicks; of `bot`, visits that are none.' }),
});
const valueCounts = (description: string) => z.array(valueCount).max(listedMax).meta({ description });

const dimensionLists = Object.fromEntries(
  dimensions.map(({ list, doc }) => [list, valueCounts(doc)]),
) as Record<DimensionList, ReturnType<typeof valueCounts>>;

const appliedFilter = z.strictObject({
  values: z.array(z.string()),
  excluded: z.boolean().meta({ description: 'Whether clicks have none of the values, instead of one.' }),
});
const filters = z
  .strictObject(
    Object.fromEntries(dimensions.map(({ name }) => [name, appliedFilter.optional()])) as Record<
      DimensionName,
      z.ZodOptional<typeof appliedFilter>
    >,
  )
  .meta({ description: 'The filters of the request, by dimension.' });

const coveredFrom = time.nullable().meta({
  description:
    'Clicks before this are missing: only single clicks can be filtered, and they are not kept longer. Null when none are.',
});
const coverage = {
  source: z
    .enum(['aggregates', 'clicks'])
    .meta({ description: 'What the numbers of the range were read from.' }),
  coveredFrom,
  listsByDayUntil: time.nullable().meta({
    description:
      'Lists cover whole UTC days up to here, because an earlier version counted them so; null when they cover exactly the range.',
  }),
};

const series = z.array(
  z.strictObject({
    start: time,
    clicks: count,
    botClicks: count,
    suspiciousClicks: count,
    filling: z.boolean().meta({ description: 'More clicks of this bucket may still arrive.' }),
  }),
);

const rangeSums = {
  clicks: count.meta({ description: 'People’s clicks in the range; what `series` adds up to.' }),
  botClicks: count,
  suspiciousClicks: count,
  visitors: count.meta({
    description:
      'Different visitors in the range, within about 2%, and never more than `clicks`. A visitor of two days counts twice.',
  }),
};

export const statsAnswer = z
  .strictObject({
    from: time.meta({ description: 'Start of the first bucket.' }),
    to: time.meta({ description: 'End of the last bucket.' }),
    interval: z.enum(['minute', 'hour', 'day']),
    timeZone: z.string(),
    minutesFrom: time.meta({ description: 'Single minutes are kept from here on.' }),
    totalClicks: count.meta({
      description: 'Human clicks of all time, independent of the range and the filters.',
    }),
    botClicks: count.meta({
      description: 'Visits of bots, previews, prefetches and HEAD requests, of all time.',
    }),
    suspiciousClicks: count.meta({
      description: 'How many of `totalClicks` came at a pace that people do not have.',
    }),
    uniqueVisitors: count.meta({ description: 'The same as `range.visitors`.' }),
    range: z.strictObject(rangeSums).meta({ description: 'Sums of the range from `from` to `to`.' }),
    clicks24h: count.meta({
      description: 'People’s clicks in the last 24 hours, whatever the range and the filters.',
    }),
    series,
    filters,
    ...coverage,
    comparison: z
      .strictObject({ from: time, to: time, ...rangeSums, coveredFrom, series })
      .nullable()
      .meta({ description: 'The same of the range that `compare` asked for; null for none.' }),
    ...dimensionLists,
    lastUpdatedAt: time.nullable().meta({ description: 'Time of the newest click counted; null for none.' }),
  })
  .meta({ id: 'Stats' });

export const breakdownAnswer = z
  .strictObject({
    from: time.meta({ description: 'Start of the range, widened to whole buckets.' }),
    to: time,
    filters,
    values: z
      .array(valueCount)
      .meta({ description: 'Most clicks first; equals in the order of their names.' }),
    total: count.meta({ description: 'How many values there are on all pages.' }),
    nextCursor: z.string().nullable().meta({ description: 'For the next page; null on the last.' }),
    ...coverage,
  })
  .meta({ id: 'Breakdown' });

const shownValues = Object.fromEntries(
  dimensions.flatMap(({ name, doc }) =>
    name === 'link' ? [] : [[name, z.string().meta({ description: doc })]],
  ),
) as Record<Exclude<DimensionName, 'link'>, z.ZodString>;

export const recentAnswer = z
  .strictObject({
    clicks: z
      .array(
        z
          .strictObject({
            shortCode: z.string(),
            at: time,
            kind: z.enum(visitKinds).meta({ description: '`human` for a person’s click.' }),
            signal: z.enum(clickSignals).meta({ description: '`none`, or why the click is suspicious.' }),
            ...shownValues,
          })
          .meta({ id: 'RecentClick' }),
      )
      .meta({ description: 'The newest first.' }),
    nextCursor: z.string().nullable().meta({ description: 'For older clicks; null on the last page.' }),
    coveredFrom: time.nullable().meta({
      description: 'Clicks before this are no longer stored one by one. Null when all of the range are.',
    }),
  })
  .meta({ id: 'RecentClicks' });

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
        daily: z
          .array(count)
          .optional()
          .meta({ description: 'Human clicks of each of the last `days`; the last is today.' }),
      })
      .meta({ id: 'LinkTotal' }),
  ),
});

export const statsTokenBody = z.strictObject({
  expiresAt: anyMoment.meta({
    description: 'When it ends: ISO 8601 time with a zone, in the future.',
    examples: ['2030-01-31T12:00:00Z'],
  }),
});

export const statsTokenAnswer = z.strictObject({
  token: z.string().meta({ description: 'The parameter `token` of the statistics of this link.' }),
  expiresAt: z.iso.datetime(),
  link: linkAnswer,
});
