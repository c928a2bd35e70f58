/** The settings as tables: all of them by group for docs/configuration.md, and the most used ones for the README. */
import { defaultInWords } from '../../src/config/report.ts';
import { flagOf, type SettingName, settingNames, settingOf } from '../../src/config/settings.ts';

/** Each group begins with the setting that is named here and ends before the next. */
const groups: readonly (readonly [title: string, first: SettingName])[] = [
  ['Server', 'config'],
  ['Storage and engines', 'links'],
  ['Processes', 'roles'],
  ['Access and rate limits', 'adminKey'],
  ['Proxies and connections', 'trustedProxies'],
  ['Codes', 'codeStrategy'],
  ['Cache in memory', 'l1Entries'],
  ['Caches in front', 'edgeTtlS'],
  ['Redirects and aliases', 'robots'],
  ['Abuse', 'blocklists'],
  ['Link health', 'linkHealth'],
  ['Retention', 'expiryGraceDays'],
  ['Clicks', 'clicks'],
  ['Overload', 'inFlightMax'],
  ['Logs, metrics and traces', 'logLevel'],
  ['Client commands', 'server'],
];

const mostUsed: readonly SettingName[] = [
  'port',
  'host',
  'baseUrl',
  'data',
  'links',
  'cache',
  'stream',
  'stats',
  'workers',
  'trustedProxies',
];

export function settingTables(): string {
  const starts = groups.map(([, first]) => settingNames.indexOf(first));
  if (starts[0] !== 0 || starts.some((start, index) => start <= (starts[index - 1] ?? -1)))
    throw new Error('the groups do not follow the order of the settings');
  return groups
    .map(([title], index) => {
      const rows = settingNames.slice(starts[index], starts[index + 1]).map(rowOf);
      return [
        `## ${title}`,
        '',
        '| Setting | Default | Values | What it does |',
        '|---|---|---|---|',
        ...rows,
      ].join('\n');
    })
    .join('\n\n');
}

function rowOf(name: SettingName): string {
  const { env, values, doc } = settingOf(name);
  const linked = doc.replace(/\bdocs\/([\w/-]+\.md)/g, '[$1]($1)');
  return `| \`${env}\`, \`${flagOf(name)}\` | ${defaultOf(name)} | ${values} | ${linked} |`;
}

export function mostUsedTable(): string {
  const rows = mostUsed.map(name => {
    const { env, doc, values } = settingOf(name);
    return `| \`${env}\` | ${defaultOf(name)} | ${doc} ${values.includes('://') ? `Values: ${values}.` : ''} |`;
  });
  return ['| Setting | Default | What it does |', '|---|---|---|', ...rows].join('\n');
}

function defaultOf(name: SettingName): string {
  return settingOf(name).defaultWords ?? `\`${defaultInWords(name)}\``;
}
