/** Request and response schemas of the check that every click was counted. */
import { z } from 'zod';
import { moment } from './stats-schemas.ts';

const time = z.iso.datetime();
const count = z.int().min(0);

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
