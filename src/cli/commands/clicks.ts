/** Clicks as an operator handles them: importing the logs of a cache, the archive, and whether every click was counted. */

import type { Comparison, ProducerAccount, Reconciliation } from '../api-types.ts';
import { callApi, pathWith } from '../client.ts';
import { type Command, type CommandContext, jsonOption, UsageError } from '../command.ts';
import { harmless, printJson, printLine, printTable } from '../output.ts';

const logsMax = 10_000;

export const clicks: Command = {
  name: 'clicks',
  summary: 'Import clicks from the logs of a cache in front of the server',
  usage: 'import LOG… [settings]',
  options: [],
  operands: { min: 2, max: logsMax },
  audiences: ['server'],
  async run({ stdout, config, local, readStdin }, given) {
    const [action, ...logs] = given.operands;
    if (action !== 'import') throw new UsageError(`usage: terse clicks ${clicks.usage}`);
    for (const log of logs) {
      const report = await local.importClicks(config, log === '-' ? readStdin() : log);
      const { imported, known, seen, other, unreadable } = report;
      const counts = Object.entries({
        'clicks imported': imported,
        'known already': known,
        'answered by the server itself': seen,
        'no visits': other,
        'lines unreadable': unreadable,
      });
      const words = counts.map(([what, count]) => `${count.toLocaleString('en')} ${what}`);
      printLine(stdout, harmless(`${log}: ${words.join(', ')}`));
    }
  },
};

export const archive: Command = {
  name: 'archive',
  summary: 'List the archived days of clicks, or restore some',
  usage: '[list | restore --day DAY] [settings]',
  options: [
    {
      flag: '--day',
      value: 'DAY',
      doc: 'The first day to restore, such as 2026-11-01; all archived days after it come back with it.',
    },
  ],
  operands: { min: 0, max: 1 },
  audiences: ['server'],
  async run({ stdout, config, local }, given) {
    const [action = 'list'] = given.operands;
    const day = given.text('--day');
    const isRestore = action === 'restore';
    if (!['list', 'restore'].includes(action) || isRestore !== (day !== undefined))
      throw new UsageError(`usage: terse archive ${archive.usage}`);
    if (day !== undefined && !/^\d{4}-\d{2}-\d{2}$/.test(day))
      throw new UsageError('--day must be a day such as 2026-11-01');
    const days = await local.archive(config, day, line => printLine(stdout, harmless(line)));
    if (!isRestore) for (const archived of days) printLine(stdout, harmless(archived));
  },
};

/** A span of whole hours, in UTC. */
interface HourSpan {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
/** Reading days of a busy stream is slow, and the answer comes at the end. */
const repairMaxMs = 24 * 60 * 60_000;

export const reconcile: Command = {
  name: 'reconcile',
  summary: 'Compare recorded with counted clicks',
  usage: '[SPAN] [options]',
  options: [
    { flag: '--hours', doc: 'One line per hour and producer instead of one per producer.' },
    { flag: '--compare', doc: 'One line per hour: clicks seen, recorded and counted; the last 24 hours.' },
    { flag: '--stream', doc: 'With --compare, count the clicks in the stream, too.' },
    {
      flag: '--repair',
      doc: 'Recount the days of SPAN: 2026-11-01T10, the day 2026-11-01, A..B, or A.. to now. Without SPAN, everything.',
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
    const path = pathWith('/api/v1/reconcile', rangeOf(span));
    const answer = await callApi<Reconciliation>(context, { ...call, path }, 'drift');
    if (given.has('--json')) printJson(context.stdout, answer);
    else if (given.has('--hours')) printHours(context, answer);
    else printProducers(context, answer);
    if (!given.has('--json') && isRepair && span !== undefined) printRepair(context, span, answer);
  },
};

async function compare(
  context: CommandContext,
  span: HourSpan | undefined,
  countsStream: boolean,
  isJson: boolean,
): Promise<void> {
  const query = { ...(countsStream && { stream: 'true' }), ...rangeOf(span) };
  const path = pathWith('/api/v1/reconcile/hours', query);
  const answer = await callApi<Comparison>(
    context,
    { method: 'GET', path, ...(countsStream && { timeoutMs: repairMaxMs }) },
    'hours',
  );
  if (isJson) return printJson(context.stdout, answer);
  const headings = ['HOUR', 'PRODUCED', 'RECORDED', 'COUNTED', 'STORED', 'STREAM', 'UNCOUNTED', 'DRIFT'];
  const rows = answer.hours.map(({ hour, noted, recorded, settling, drift, ...row }) => [
    hour.slice(0, 13),
    ...numbers(noted, recorded),
    ...[row.counted, row.kept, row.inStream, row.uncounted].map(number => String(number ?? '-')),
    `${percent(drift)}${settling ? ' settling' : ''}`,
  ]);
  printTable(context.stdout, headings, rows);
}

function rangeOf(span: HourSpan | undefined): Record<string, string> {
  if (span === undefined) return {};
  return { from: new Date(span.from).toISOString(), to: new Date(span.to).toISOString() };
}

function printHours({ stdout }: CommandContext, { hours }: Reconciliation): void {
  const rows = hours.map(({ hour, producer, recorded, dropped, missing, duplicates, settling }) => [
    hour.slice(0, 13),
    ...numbers(recorded, dropped, missing, duplicates),
    settling ? 'settling' : 'settled',
    producer,
  ]);
  printTable(stdout, ['HOUR', 'RECORDED', 'DROPPED', 'MISSING', 'DUPLICATES', 'STATE', 'PRODUCER'], rows);
}

function printProducers(
  { stdout }: CommandContext,
  { producers, hours, totals, drift }: Reconciliation,
): void {
  const row = (account: ProducerAccount, name: string, state: string): string[] => {
    const { produced, recorded, dropped, missing, duplicates, pending } = account;
    const states = [state, account.settling ? 'settling' : ''].filter(word => word !== '').join(' ');
    return [...numbers(produced, recorded, dropped, missing, duplicates, pending), states, name];
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
  const settling = new Set(hours.filter(each => each.settling).map(({ hour }) => hour)).size;
  const note =
    settling === 0 ? '' : `, without ${settling} ${settling === 1 ? 'hour' : 'hours'} still settling`;
  printLine(stdout, `drift ${percent(drift)}${note}`);
}

function printRepair({ stdout }: CommandContext, span: HourSpan, { repairedClicks }: Reconciliation): void {
  printLine(stdout, `recounted ${repairedClicks ?? 0} clicks`);
  if (!isOfWholeDays(span))
    printLine(stdout, 'counts are kept by the day: all hours of that day were recounted');
}

const numbers = (...values: number[]): string[] => values.map(String);
const percent = (share: number): string => `${(share * 100).toFixed(4)}%`;

/** Parses an hour, a day, or a range of them such as `2026-11-01..2026-11-03`. */
export function parseSpan(text: string, now: number): HourSpan {
  const [first = '', last] = text.split('..', 2);
  const { from, to } = unitOf(first);
  if (last === undefined) return { from, to };
  const end = last === '' ? Math.ceil(now / hourMs) * hourMs : unitOf(last).to;
  if (end <= from) throw new UsageError(`${text} ends before it begins`);
  return { from, to: end };
}

export const isOfWholeDays = ({ from, to }: HourSpan): boolean => from % dayMs === 0 && to % dayMs === 0;

function unitOf(text: string): HourSpan {
  const [, day, hour] = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2})(?::00(?::00(?:\.000)?)?)?Z?)?$/.exec(text) ?? [];
  const from = Date.parse(`${day}T${hour ?? '00'}:00:00Z`);
  // A day that does not exist would otherwise be parsed as a later one.
  if (Number.isNaN(from) || !new Date(from).toISOString().startsWith(day!))
    throw new UsageError(`${text} must be an hour such as 2026-11-01T10, or a day such as 2026-11-01`);
  return { from, to: from + (hour === undefined ? dayMs : hourMs) };
}
