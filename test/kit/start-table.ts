/**
 * Terse's behaviour when an engine is missing at the start, for each role: the table of docs/operations/starting.md,
 * which test/faults/start-order.test.ts compares with the real behaviour.
 */
export const engines = ['Postgres', 'Redis', 'Kafka', 'ClickHouse'] as const;
export type Engine = (typeof engines)[number];
export const startRoles = ['redirect', 'api', 'worker', 'all'] as const;
export type StartRole = (typeof startRoles)[number];

export interface StartRow {
  readonly missing: Engine;
  readonly role: StartRole;
  /** The status of `/health/ready`, and the parts that it says are unavailable. */
  readonly ready: string;
  /** Statuses; a dash where the role does not do it. */
  readonly redirect: string;
  readonly create: string;
  readonly statistics: string;
  /** The event in the log. */
  readonly event: string;
}

const waiting = { redirect: '503', create: '503', statistics: '503', event: 'waiting for the store' };
const none = '–';

/** The statuses of each role when nothing is missing. */
export const doneBy: Readonly<Record<StartRole, Pick<StartRow, 'redirect' | 'create' | 'statistics'>>> = {
  redirect: { redirect: '302', create: none, statistics: none },
  api: { redirect: none, create: '201', statistics: '200' },
  worker: { redirect: none, create: none, statistics: none },
  all: { redirect: '302', create: '201', statistics: '200' },
};

function rowOf(missing: Engine, role: StartRole): StartRow {
  const row = { missing, role, ...doneBy[role] };
  switch (missing) {
    case 'Postgres':
      return { ...row, ...waiting, ready: '503, links' };
    case 'Redis':
      return {
        ...row,
        ready: '200, cache',
        event: 'Redis has not answered since the start; Terse continues without it',
      };
    case 'Kafka':
      return { ...row, ready: '200, stream', event: 'topics for clicks cannot be made' };
    case 'ClickHouse':
      return { ...row, ready: '200', event: none, ...(row.statistics !== none && { statistics: '503' }) };
  }
}

export const startRows: readonly StartRow[] = engines.flatMap(missing =>
  startRoles.map(role => rowOf(missing, role)),
);

export function startTable(): string {
  const rows = startRows.map(
    ({ missing, role, ready, redirect, create, statistics, event }) =>
      `| ${missing} | \`${role}\` | ${ready} | ${redirect} | ${create} | ${statistics} | ${event} |`,
  );
  return [
    '| Missing | Role | `/health/ready`, and what it says is unavailable | redirect | create | statistics | The log says |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}
