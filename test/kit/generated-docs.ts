/**
 * The parts of the documents that are made from code: `npm run docs` writes them, `test/docs.test.ts` fails when
 * they have drifted. A part stands between two comments that name it.
 */
import { join } from 'node:path';
import { problemTable } from '../../src/base/errors.ts';
import { agentSamples } from '../../src/clicks/steps/agent-samples.ts';
import { fieldSpellings, pathSpellings, snakeCase } from '../../src/http/spellings.ts';
import { defaultRates, planNames, plans, type RateName } from '../../src/limits/plans.ts';
import { permissionTables } from '../e2e/permission-matrix.ts';
import { llhttpTables, proxyTable } from '../foreign/results.ts';
import { metricTables } from './metric-document.ts';
import { outageTable } from './outage-table.ts';
import { corpusTables, signalTable } from './risk-report.ts';
import { mostUsedTable, settingTables } from './settings-document.ts';
import { startTable } from './start-table.ts';

const root = join(import.meta.dir, '../..');

export const generatedParts: readonly { file: string; part: string; text: () => string }[] = [
  { file: 'README.md', part: 'most used settings', text: mostUsedTable },
  { file: 'docs/configuration.md', part: 'settings', text: settingTables },
  { file: 'docs/abuse.md', part: 'risk signals', text: signalTable },
  { file: 'docs/abuse.md', part: 'risk corpus', text: corpusTables },
  { file: 'docs/api.md', part: 'problems', text: problemRows },
  { file: 'docs/api.md', part: 'spellings', text: spellingRows },
  { file: 'docs/foreign-suites.md', part: 'llhttp', text: llhttpTables },
  { file: 'docs/foreign-suites.md', part: 'proxies', text: proxyTable },
  { file: 'docs/limits.md', part: 'plans', text: planRows },
  { file: 'docs/limits.md', part: 'other limits', text: otherLimitRows },
  { file: 'docs/operations/metrics.md', part: 'metrics', text: metricTables },
  { file: 'docs/operations/outages.md', part: 'outages', text: outageTable },
  { file: 'docs/operations/starting.md', part: 'starting', text: startTable },
  { file: 'docs/permissions.md', part: 'permissions', text: permissionTables },
  { file: 'docs/user-agents.md', part: 'user agents', text: agentTables },
];

function problemRows(): string {
  const rows = Object.entries(problemTable).map(([code, row]) => {
    const outcomes = 'outcome' in row ? { none: '`none`', unknown: '`none`, `unknown`' }[row.outcome] : '';
    return `| \`${code}\` | ${row.status} | ${row.title} | ${outcomes} |`;
  });
  return ['| `code` | Status | Title | `outcome` |', '|---|---|---|---|', ...rows].join('\n');
}

function spellingRows(): string {
  const paths = Object.entries(pathSpellings).map(([path, others]) => [path, Object.keys(others)] as const);
  const fields = Map.groupBy(Object.entries(fieldSpellings), ([, field]) => field);
  const rows = [
    ...paths,
    ...[...fields].map(
      ([field, names]) =>
        [
          field,
          [
            ...new Set([field, ...names.map(([name]) => name)].flatMap(name => [name, snakeCase(name)])),
          ].slice(1),
        ] as const,
    ),
  ];
  const shown = rows.map(
    ([name, others]) => `| \`${name}\` | ${others.map(other => `\`${other}\``).join(', ')} |`,
  );
  return ['| Ours | Also accepted |', '|---|---|', ...shown].join('\n');
}

function planRows(): string {
  const rows = planNames.map(name => {
    const { allowance, burst, changes, reads, customAliases } = plans[name];
    const cells = [
      ...[allowance, burst].map(rate => (rate === null ? 'any' : `${countOf(rate)} (\`${rate}\`)`)),
      // Callers without a key cannot change anything.
      name === 'anonymous' ? 'none' : rateOf(changes),
      rateOf(reads),
    ];
    return `| \`${name}\` | ${cells.join(' | ')} | ${customAliases ? 'yes' : 'no'} |`;
  });
  const head =
    '| Plan | Links per hour | Creates per minute from one address | Changes | Expensive reads | Custom aliases |';
  return [head, '|---|---|---|---|---|---|', ...rows].join('\n');
}

const periods: Readonly<Record<number, string>> = {
  60000: 'a minute',
  3600000: 'an hour',
  86400000: 'a day',
};

const rateOf = (name: RateName | null): string =>
  name === null ? 'any' : `${countOf(name)} ${periods[defaultRates[name].periodMs]} (\`${name}\`)`;

function otherLimitRows(): string {
  const rows = [
    `| \`aliasCheck\` | ${countOf('aliasCheck')} a minute | checks whether an alias is free, by address and account |`,
    `| \`report\` | ${countOf('report')} an hour | reports of abuse, by address |`,
    `| \`signIn\` | ${countOf('signIn')} a minute | attempts to sign in, to read or to accept an invitation, by address |`,
    `| \`signUp\` | ${countOf('signUp')} an hour | sign-ups, by address |`,
    `| \`signInAccount\` | ${countOf('signInAccount')} an hour | attempts of strangers at the password of one account |`,
    `| \`signInDevice\` | ${countOf('signInDevice')} an hour | attempts at the password of one account from one known device |`,
    `| \`currentPassword\` | ${countOf('currentPassword')} an hour | attempts to confirm a change with the current password |`,
  ];
  return ['| Limit | Rate | What is limited |', '|---|---|---|', ...rows].join('\n');
}

const countOf = (name: RateName): string => defaultRates[name].count.toLocaleString('en');

function agentTables(): string {
  const sections = Map.groupBy(agentSamples, sample => sample.section);
  return [...sections]
    .map(([section, samples]) => {
      const rows = samples.map(({ what, kind, device, browser, os, userAgent }) => {
        const shown = userAgent === '' ? '(empty)' : `\`${userAgent.replaceAll('|', '\\|')}\``;
        return `| ${what} | ${kind} | ${device} | ${browser} | ${os} | ${shown} |`;
      });
      const head = [
        '| What it is | Kind | Device | Browser | System | User agent |',
        '|---|---|---|---|---|---|',
      ];
      return [`### ${section}`, '', ...head, ...rows].join('\n');
    })
    .join('\n\n');
}

/** The document with the part replaced; throws when the document has no such part. */
export function withPart(document: string, part: string, text: string): string {
  const [begin, end] = [`<!-- generated: ${part} -->`, `<!-- end: ${part} -->`];
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from === -1 || to < from) throw new Error(`the document has no part “${part}”`);
  return `${document.slice(0, from + begin.length)}\n${text.trim()}\n${document.slice(to)}`;
}

export const readDocument = (file: string): Promise<string> => Bun.file(join(root, file)).text();

if (import.meta.main) {
  for (const { file, part, text } of generatedParts) {
    await Bun.write(join(root, file), withPart(await readDocument(file), part, text()));
  }
}
