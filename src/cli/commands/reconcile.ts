/** Whether every click was counted, on a terminal; and the repair of what was not. */
import { callApi } from '../client.ts';
import { type Command, type CommandContext, exitCodes, jsonOption, UsageError } from '../command.ts';
import { type HourSpan, isOfWholeDays, parseSpan } from '../hour-span.ts';
import { printJson, printLine, printTable } from '../output.ts';

interface ApiAccount {
  readonly produced: number;
  readonly recorded: number;
  readonly dropped: number;
  readonly duplicates: number;
  readonly missing: number;
  readonly pending: number;
}

interface ApiReconciliation {
  readonly drift: number;
  readonly totals: ApiAccount;
  readonly producers: readonly (ApiAccount & { readonly producer: string; readonly alive: boolean })[];
  readonly hours: readonly (Omit<ApiAccount, 'produced' | 'pending'> & {
    readonly hour: string;
    readonly producer: string;
  })[];
  /** Of a repair only. */
  readonly repairedClicks?: number | null;
}

interface ApiComparison {
  readonly hours: readonly {
    readonly hour: string;
    readonly noted: number;
    readonly recorded: number;
    readonly counted: number | null;
    readonly kept: number | null;
    readonly inStream: number | null;
    readonly uncounted: number | null;
    readonly filling: boolean;
    readonly drift: number;
  }[];
}

/** Reading days of a busy stream takes its time, and the answer is given at the end. */
const repairMaxMs = 24 * 60 * 60_000;

export const reconcile: Command = {
  name: 'reconcile',
  summary: 'Compare the clicks that were noted with those that were counted',
  usage: '[SPAN] [options]',
  options: [
    { flag: '--hours', doc: 'One line per hour and producer instead of one per producer.' },
    { flag: '--compare', doc: 'One line per hour: what was noted, recorded and counted; the last 24 hours.' },
    { flag: '--stream', doc: 'With --compare, count the clicks in the stream, too.' },
    {
      flag: '--repair',
      doc: 'Count the hours of SPAN anew: 2026-11-01T10, the day 2026-11-01, A..B, or A.. to now. Without SPAN, everything.',
    },
    jsonOption,
  ],
  operands: { min: 0, max: 1 },
  audiences: ['client'],
  async run(context, given) {
    const [operand] = given.operands;
    const span = operand === undefined ? undefined : parseSpan(operand, context.clock.now());
    const isComparison = given.has('--compare') || given.has('--stream');
    if (isComparison && given.has('--repair'))
      throw new UsageError('--repair and --compare are two steps: repair, then compare');
    if (isComparison) return compare(context, span, given.has('--stream'), given.has('--json'));

    const isRepair = given.has('--repair');
    const call = isRepair
      ? ({ method: 'POST', timeoutMs: repairMaxMs } as const)
      : ({ method: 'GET' } as const);
    const path = `/api/v1/reconcile${queryOf(span)}`;
    const answer = await callApi<ApiReconciliation>(context, { ...call, path }, 'drift');
    if (given.has('--json')) printJson(context.stdout, answer);
    else if (given.has('--hours')) printHours(context, answer);
    else printProducers(context, answer);
    if (!given.has('--json') && isRepair && span !== undefined) printRepair(context, span, answer);
    return exitCodes.ok;
  },
};

async function compare(
  context: CommandContext,
  span: HourSpan | undefined,
  countsStream: boolean,
  isJson: boolean,
): Promise<number> {
  const path = `/api/v1/reconcile/hours${queryOf(span, countsStream ? { stream: 'true' } : {})}`;
  const answer = await callApi<ApiComparison>(
    context,
    { method: 'GET', path, ...(countsStream && { timeoutMs: repairMaxMs }) },
    'hours',
  );
  if (isJson) {
    printJson(context.stdout, answer);
    return exitCodes.ok;
  }
  const headings = ['HOUR', 'NOTED', 'RECORDED', 'COUNTED', 'KEPT', 'STREAM', 'UNCOUNTED', 'DRIFT'];
  const rows = answer.hours.map(({ hour, noted, recorded, filling, drift, ...row }) => [
    hour.slice(0, 13),
    ...numbers(noted, recorded),
    ...[row.counted, row.kept, row.inStream, row.uncounted].map(number => String(number ?? '-')),
    `${percent(drift)}${filling ? ' filling' : ''}`,
  ]);
  printTable(context.stdout, headings, rows);
  return exitCodes.ok;
}

function queryOf(span: HourSpan | undefined, others: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(others);
  if (span !== undefined) {
    query.set('from', new Date(span.from).toISOString());
    query.set('to', new Date(span.to).toISOString());
  }
  return query.size === 0 ? '' : `?${query}`;
}

function printHours({ stdout }: CommandContext, { hours }: ApiReconciliation): void {
  const rows = hours.map(({ hour, producer, recorded, dropped, missing, duplicates }) => [
    hour.slice(0, 13),
    ...numbers(recorded, dropped, missing, duplicates),
    producer,
  ]);
  printTable(stdout, ['HOUR', 'RECORDED', 'DROPPED', 'MISSING', 'DUPLICATES', 'PRODUCER'], rows);
}

function printProducers({ stdout }: CommandContext, { producers, totals, drift }: ApiReconciliation): void {
  const row = (account: ApiAccount, name: string, state: string): string[] => {
    const { produced, recorded, dropped, missing, duplicates, pending } = account;
    return [...numbers(produced, recorded, dropped, missing, duplicates, pending), state, name];
  };
  const rows = producers.map(account => row(account, account.producer, account.alive ? 'alive' : 'ended'));
  const headings = [
    'PRODUCED',
    'RECORDED',
    'DROPPED',
    'MISSING',
    'DUPLICATES',
    'PENDING',
    'STATE',
    'PRODUCER',
  ];
  printTable(stdout, headings, [...rows, row(totals, 'all', '')]);
  printLine(stdout, `drift ${percent(drift)}`);
}

function printRepair(
  { stdout }: CommandContext,
  span: HourSpan,
  { repairedClicks }: ApiReconciliation,
): void {
  printLine(stdout, `counted ${repairedClicks ?? 0} clicks anew`);
  if (!isOfWholeDays(span))
    printLine(
      stdout,
      'lists of countries, referrers and so on are kept by the day: repair the day for those',
    );
}

const numbers = (...values: number[]): string[] => values.map(String);
const percent = (share: number): string => `${(share * 100).toFixed(4)}%`;
