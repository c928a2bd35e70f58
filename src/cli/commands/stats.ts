/** Clicks on a terminal: the numbers of a link or of everything. */
import type { ApiStats, ValueCount } from '../api-types.ts';
import { callApi, pathWith } from '../client.ts';
import { type Command, jsonOption, UsageError } from '../command.ts';
import { codeFrom } from '../link-options.ts';
import { paint, printJson, printLine, printTable } from '../output.ts';

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
    {
      flag: '--filter',
      value: 'DIMENSION=VALUES',
      isRepeatable: true,
      doc: 'Only clicks such as country=DE,FR or device=mobile; country=!DE for all others. Repeatable.',
    },
    {
      flag: '--compare',
      value: 'WITH',
      doc: 'Compare with the previous range, or the same of last year: previous or year.',
    },
    { flag: '--tag', value: 'TAG', doc: 'Only clicks on links with this tag; without CODE.' },
    jsonOption,
  ],
  operands: { min: 0, max: 1 },
  audiences: ['client'],
  async run(context, given) {
    const [operand] = given.operands;
    const subject = operand === undefined ? '/api/v1/stats' : `/api/v1/links/${codeFrom(operand)}/stats`;
    const path = pathWith(subject, {
      ...filtersIn(given.all('--filter')),
      ...given.texts('from', 'to', 'interval', 'timeZone', 'compare', 'tag'),
    });
    const answer = await callApi<ApiStats>(context, { method: 'GET', path }, 'totalClicks');
    if (given.has('--json')) return printJson(context.stdout, answer);
    const { stdout } = context;
    printLine(stdout, headlineOf(answer, paint(stdout, 'bold', String(answer.range.clicks))));
    for (const line of remarksOn(answer)) printLine(stdout, line);
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
  },
};

function filtersIn(given: readonly string[]): Record<string, string> {
  const filters: Record<string, string> = {};
  for (const text of given) {
    const at = text.indexOf('=');
    if (at < 1) throw new UsageError(`--filter ${text} has no dimension: write --filter country=DE`);
    const name = text.slice(0, at);
    if (Object.hasOwn(filters, name))
      throw new UsageError(`--filter ${name} is set twice; separate its values with commas`);
    filters[name] = text.slice(at + 1);
  }
  return filters;
}

function remarksOn({ comparison, coveredFrom }: ApiStats): string[] {
  const remarks = [];
  if (comparison) {
    const { from, to, clicks, visitors, botClicks } = comparison;
    remarks.push(
      `${minuteOf(from)} to ${minuteOf(to)}: ${clicks} clicks by ${visitors} visitors, ${botClicks} by bots`,
    );
  }
  const missingUntil = coveredFrom ?? comparison?.coveredFrom;
  if (missingUntil)
    remarks.push(
      `Clicks before ${minuteOf(missingUntil)} are not included: filters need single clicks, which are no longer kept`,
    );
  return remarks;
}

const minuteOf = (time: string): string => time.slice(0, 16).replace('T', ' ');

function headlineOf(answer: ApiStats, clicks: string): string {
  const { totalClicks, clicks24h, range } = answer;
  const suspicious = range.suspiciousClicks > 0 ? ` (${range.suspiciousClicks} of them suspicious)` : '';
  return (
    `${clicks} clicks by ${range.visitors} visitors${suspicious}, ${range.botClicks} by bots; ` +
    `${clicks24h} in the last 24 hours, ${totalClicks} of all time`
  );
}

/** The newest buckets as bars; one that is still in progress ends in dots. */
function printSeries({ series }: ApiStats, print: (line: string) => void): void {
  const shown = series.slice(-rowsShownMax);
  const most = Math.max(1, ...shown.map(({ clicks }) => clicks));
  for (const { start, clicks, filling } of shown) {
    const bar = '█'.repeat(Math.round((clicks / most) * barWidth));
    print(`${minuteOf(start)}  ${String(clicks).padStart(String(most).length)}  ${bar}${filling ? '…' : ''}`);
  }
}
