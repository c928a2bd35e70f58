/** Checks that every click was counted, by process and by hour, and repairs what was not. For admins. */
import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import type { ClickReports } from '../../clicks/stats.ts';
import { isoTime } from '../link-view.ts';
import {
  compareAnswer,
  comparedDaysMax,
  compareParameters,
  reconcileAnswer,
  reconcileParameters,
  repairAnswer,
  repairParameters,
} from '../reconcile-schemas.ts';
import { defineRoute, json, type Route } from '../route.ts';

interface ReconcileRoutesOptions {
  readonly reports: Pick<ClickReports, 'reconcile' | 'compareHours' | 'recountAll' | 'recountDays'>;
  readonly clock: Clock;
}

const dayMs = 24 * 60 * 60_000;

export function reconcileRoutes({ reports, clock }: ReconcileRoutesOptions): Route[] {
  const accountOf = async ({ from, to }: { from?: number | undefined; to?: number | undefined }) => {
    const now = clock.now();
    const range = [from ?? now - 30 * dayMs, to ?? now + dayMs] as const;
    const { hours, settledUntil: _, ...account } = await reports.reconcile(...range);
    return { ...account, hours: hours.map(row => ({ ...row, hour: isoTime(row.hour) })) };
  };
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/reconcile',
      name: 'reconcileClicks',
      summary: 'Compare recorded with counted clicks',
      description: 'Compares recorded with counted clicks, by producer and hour. For admins.',
      scope: 'admin',
      limit: 'read',
      query: reconcileParameters,
      answers: { 200: { description: 'The comparison.', schema: reconcileAnswer } },
      problems: ['stats_unavailable'],
      handle: async ({ query }) => json(await accountOf(query)),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/reconcile/hours',
      name: 'compareHours',
      summary: 'Compare the counts of each hour',
      description:
        'Clicks recorded, clicks counted, the sum over links and, on request, the clicks in the stream, hour by hour. For admins.',
      scope: 'admin',
      limit: 'read',
      query: compareParameters,
      answers: { 200: { description: 'The hours in which anything happened.', schema: compareAnswer } },
      problems: ['stats_unavailable'],
      async handle({ query: { to = clock.now(), from = to - dayMs, stream } }) {
        if (from >= to || to - from > comparedDaysMax * dayMs) {
          throw new Problem('invalid_request', {
            detail: `The range must end after it begins and have at most ${comparedDaysMax} days.`,
          });
        }
        const hours = await reports.compareHours(from, to, stream);
        return json({ hours: hours.map(row => ({ ...row, hour: isoTime(row.hour) })) });
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/reconcile',
      name: 'repairClicks',
      summary: 'Recount clicks',
      description:
        'Replays the stream and replaces the old counts in one step, then gives the account: the days of the hours in the range if one is given, otherwise everything that is kept. For admins.',
      scope: 'admin',
      limit: 'change',
      query: repairParameters,
      answers: { 200: { description: 'The comparison after it.', schema: repairAnswer } },
      problems: ['stats_unavailable', 'clicks_not_kept'],
      async handle({ query: { from, to } }) {
        if (from === undefined || to === undefined) {
          await reports.recountAll();
          return json({ ...(await accountOf({})), repairedClicks: null });
        }
        const repairedClicks = await reports.recountDays(from, to);
        return json({ ...(await accountOf({ from, to })), repairedClicks });
      },
    }),
  ];
}
