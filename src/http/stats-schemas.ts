/** Request and response schemas of click statistics, and of the check that every click was counted. */
import { z } from 'zod';
import { isTimeZone } from '../base/zone.ts';
import { type DimensionList, type DimensionName, dimensions } from '../clicks/dimensions.ts';
import { listedMax, seriesBucketsMax } from '../clicks/stats.ts';
import { referrerLengthMax } from '../clicks/steps/referrer.ts';
import { codePattern } from '../links/link.ts';
import { moment as anyMoment, text, upTo, wholeNumber } from './schemas.ts';

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
/** Of a whole parameter. */
const filterLengthMax = 8_192;

/**
 * Values separated by commas, with `!` in front of the list to exclude them. A backslash takes the next character as it
 * is. Percent-encoding cannot tell the two kinds of commas apart: most clients encode all of them.
 */
function filterIn(list: string): { readonly values: string[]; readonly isExcluded: boolean } {
  const isExcluded = list.startsWith('!');
  const values = [''];
  for (const part of list.slice(isExcluded ? 1 : 0).match(/\\?./gsu) ?? []) {
    if (part === ',') values.push('');
    else values[values.length - 1] += part.length > 1 && part.startsWith('\\') ? part.slice(1) : part;
  }
  return { values: [...new Set(values)], isExcluded };
}

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

export const statsParameters = z.strictObject({ ...statsFields, ...compareFields, ...linkFilters });
export const breakdownParameters = z.strictObject({ ...statsFields, ...pageFields, ...linkFilters });

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
