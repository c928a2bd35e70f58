/** Whether every click was counted: by process, by hour; and the repair of what was not. For admins. */
import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import type { ClickReports } from '../../clicks/reports.ts';
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

export interface ReconcileRoutesOptions {
  readonly reports: Pick<ClickReports, 'reconcile' | 'compareHours' | 'rebuild' | 'repair'>;
  readonly clock: Clock;
}

const dayMs = 24 * 60 * 60_000;

export function reconcileRoutes({ reports, clock }: ReconcileRoutesOptions): Route[] {
  const accountOf = async ({ from, to }: { from?: number | undefined; to?: number | undefined }) => {
    const now = clock.now();
    const { hours, ...account } = await reports.reconcile(from ?? now - 30 * dayMs, to ?? now + dayMs);
    return { ...account, hours: hours.map(row => ({ ...row, hour: isoTime(row.hour) })) };
  };
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/reconcile',
      name: 'reconcileClicks',
      summary: 'Whether every click was counted',
      description: 'Compares what processes noted with what was counted, by producer and hour. For admins.',
      auth: 'required',
      scope: 'admin',
      limit: 'read',
      query: reconcileParameters,
      answers: { 200: { description: 'The account.', schema: reconcileAnswer } },
      problems: ['stats_unavailable'],
      handle: async ({ query }) => json(await accountOf(query)),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/reconcile/hours',
      name: 'compareHours',
      summary: 'Whether the numbers of each hour agree',
      description:
        'What was noted, what was recorded, what the counts of links add up to and, if asked for, what the stream has, hour by hour. For admins.',
      auth: 'required',
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
      summary: 'Count clicks anew',
      description:
        'Replays the stream in place of what was counted, in one step, and then gives the account: whole hours if a range is given, otherwise everything that is kept. For admins.',
      auth: 'required',
      scope: 'admin',
      limit: 'change',
      query: repairParameters,
      answers: { 200: { description: 'The account after it.', schema: repairAnswer } },
      problems: ['stats_unavailable', 'clicks_not_kept'],
      async handle({ query: { from, to } }) {
        if (from === undefined || to === undefined) {
          await reports.rebuild();
          return json({ ...(await accountOf({})), repairedClicks: null });
        }
        const repairedClicks = await reports.repair(from, to);
        return json({ ...(await accountOf({ from, to })), repairedClicks });
      },
    }),
  ];
}
