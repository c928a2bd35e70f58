/** Clicks on a terminal: the numbers of a link or of everything. */
import { callApi } from '../client.ts';
import { type Command, exitCodes, jsonOption } from '../command.ts';
import { codeFrom } from '../link-options.ts';
import { paint, printJson, printLine, printTable } from '../output.ts';

interface ValueCount {
  readonly value: string;
  readonly clicks: number;
}

interface ApiStats {
  readonly from: string;
  readonly to: string;
  /** Of all time. */
  readonly totalClicks: number;
  readonly clicks24h: number;
  readonly range: {
    readonly clicks: number;
    readonly botClicks: number;
    readonly suspiciousClicks: number;
    readonly visitors: number;
  };
  readonly series: readonly { readonly start: string; readonly clicks: number; readonly filling: boolean }[];
  readonly topReferrers: readonly ValueCount[];
  readonly topCountries: readonly ValueCount[];
  readonly browsers: readonly ValueCount[];
}

const barWidth = 40;
const rowsShownMax = 60;
const listShownMax = 5;

export const stats: Command = {
  name: 'stats',
  summary: 'Show the clicks of a link, or of all your links',
  usage: '[CODE] [options]',
  options: [
    { flag: '--from', value: 'TIME', doc: 'Start of the range, such as 2030-01-31T00:00:00Z.' },
    { flag: '--to', value: 'TIME', doc: 'End of the range.' },
    { flag: '--interval', value: 'WIDTH', doc: 'minute, hour or day; day unless given.' },
    { flag: '--time-zone', value: 'NAME', doc: 'Where days begin, such as Europe/Berlin; UTC unless given.' },
    { flag: '--tag', value: 'TAG', doc: 'Only clicks on links with this tag; without CODE.' },
    jsonOption,
  ],
  operands: { min: 0, max: 1 },
  audiences: ['client'],
  async run(context, given) {
    const [operand] = given.operands;
    const path = operand === undefined ? '/api/v1/stats' : `/api/v1/links/${codeFrom(operand)}/stats`;
    const query = new URLSearchParams();
    const parameters = {
      from: '--from',
      to: '--to',
      interval: '--interval',
      timeZone: '--time-zone',
      tag: '--tag',
    } as const;
    for (const [name, flag] of Object.entries(parameters)) {
      const value = given.text(flag);
      if (value !== undefined) query.set(name, value);
    }
    const answer = await callApi<ApiStats>(
      context,
      { method: 'GET', path: `${path}?${query}` },
      'totalClicks',
    );
    if (given.has('--json')) {
      printJson(context.stdout, answer);
      return exitCodes.ok;
    }
    const { stdout } = context;
    printLine(stdout, headlineOf(answer, paint(stdout, 'bold', String(answer.range.clicks))));
    printSeries(answer, line => printLine(stdout, line));
    const list = (counts: readonly ValueCount[]): string =>
      counts
        .slice(0, listShownMax)
        .map(({ value, clicks }) => `${value === '' ? 'unknown' : value} ${clicks}`)
        .join(', ');
    printTable(
      stdout,
      ['', ''],
      [
        ['Countries', list(answer.topCountries)],
        [
          'Referrers',
          list(
            answer.topReferrers.map(({ value, clicks }) => ({
              value: value === '' ? 'direct' : value,
              clicks,
            })),
          ),
        ],
        ['Browsers', list(answer.browsers)],
      ],
    );
    return exitCodes.ok;
  },
};

function headlineOf(answer: ApiStats, clicks: string): string {
  const { totalClicks, clicks24h, range } = answer;
  const suspicious = range.suspiciousClicks > 0 ? ` (${range.suspiciousClicks} of them suspicious)` : '';
  return (
    `${clicks} clicks by ${range.visitors} visitors${suspicious}, ${range.botClicks} by bots; ` +
    `${clicks24h} in the last 24 hours, ${totalClicks} of all time`
  );
}

/** The newest buckets as bars; one that is still filling ends in dots. */
function printSeries({ series }: ApiStats, print: (line: string) => void): void {
  const shown = series.slice(-rowsShownMax);
  const most = Math.max(1, ...shown.map(({ clicks }) => clicks));
  for (const { start, clicks, filling } of shown) {
    const bar = '█'.repeat(Math.round((clicks / most) * barWidth));
    print(
      `${start.slice(0, 16).replace('T', ' ')}  ${String(clicks).padStart(String(most).length)}  ${bar}${filling ? '…' : ''}`,
    );
  }
}
