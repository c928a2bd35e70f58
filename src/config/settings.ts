/**
 * Every setting of Terse, in one table: its name, how it is read, its default, and
 * what it does. The loader, `terse config`, `terse help` and docs/configuration.md are all made from it.
 * The flag of a setting is its name in kebab case; its key in the configuration file is its name.
 * Invariant: a default is text and goes through the same reader as any other value.
 */
import { auditDaysDefault, auditDaysMin } from '../audit/audit-entry.ts';
import { codeStrategies } from '../codes/start.ts';
import { abuseSettings, healthSettings } from './abuse-settings.ts';
import { cacheSettings, edgeSettings, queueSettings } from './cache-settings.ts';
import { clickSettings } from './click-settings.ts';
import { connectionSettings, limitSettings, tlsSettings } from './connection-settings.ts';
import { observationSettings } from './observation-settings.ts';
import { defaultOrigin } from './public-origin.ts';
import {
  client,
  engine,
  headerValue,
  integer,
  key,
  list,
  listenHost,
  listOf,
  number,
  oneOf,
  onOrOff,
  origin,
  orNone,
  orWord,
  path,
  Refused,
  region,
  type Setting,
  statsAddress,
  streamAddress,
  text,
  webHost,
  wholeNumber,
} from './setting-values.ts';

export type { Audience } from './setting-values.ts';

export const roles = ['all', 'redirect', 'api', 'worker'] as const;
export type Role = (typeof roles)[number];

function roleList(text: string): readonly Role[] {
  const chosen = listOf(oneOf(...roles))(text);
  if (chosen.length === 0) throw new Refused();
  if (chosen.includes('all') && chosen.length > 1) throw new Refused('all cannot be combined with others');
  return chosen;
}

/** A snowflake is 63 bits wide, and 62^11 is the first power of 62 that holds it. */
export const snowflakeCodeLengthMin = 11;

export const settings = {
  config: text({
    env: 'TERSE_CONFIG',
    read: orNone(path),
    default: 'none',
    values: 'a path to a JSON file, or `none`',
    doc: 'A file of settings: one JSON object with camelCase names.',
  }),
  port: integer({
    env: 'PORT',
    range: [0, 65_535, '0 takes any free port'],
    default: '8080',
    doc: 'The port to listen on.',
  }),
  host: text({
    env: 'HOST',
    read: listenHost,
    default: '127.0.0.1',
    values: 'an IP address or a host name; `0.0.0.0` or `::` for every interface',
    doc: 'The address to listen on.',
  }),
  ...tlsSettings,
  baseUrl: text({
    env: 'TERSE_BASE_URL',
    read: origin,
    default: earlier => defaultOrigin(earlier, earlier.port),
    defaultWords: 'http://localhost:PORT (https with TLS), or with `HOST` where that is another address',
    values: 'an http or https origin without a path, such as `https://sho.rt`',
    doc: 'The public origin of short links.',
  }),
  data: text({
    env: 'TERSE_DATA',
    read: path,
    default: './data',
    values: 'a path to a folder',
    doc: 'The folder of the embedded storage; created if missing.',
  }),
  links: text({
    env: 'TERSE_LINKS',
    read: engine(['sqlite', 'memory'], ['postgres', 'dynamodb']),
    default: 'sqlite',
    values: '`sqlite`, `memory`, `postgres://…` or `dynamodb://…`',
    doc: 'Where links are stored; `memory` loses them at exit.',
  }),
  cache: text({
    env: 'TERSE_CACHE',
    read: engine(['none'], ['redis', 'rediss', 'redis-cluster']),
    default: 'none',
    values: '`none`, `redis://…`, `rediss://…` (TLS) or `redis-cluster://…`',
    doc: 'The cache that processes share, in addition to the one in memory.',
  }),
  ...cacheSettings,
  stream: text({
    env: 'TERSE_STREAM',
    read: streamAddress,
    default: 'embedded',
    values: '`embedded`, `kafka://…/TOPIC` or `kafkas://…` (TLS)',
    doc: 'The stream that carries clicks.',
  }),
  stats: text({
    env: 'TERSE_STATS',
    read: statsAddress,
    default: 'sqlite',
    values: '`sqlite` or `clickhouse://…/DATABASE`',
    doc: 'Where click statistics are stored.',
  }),
  writes: text({
    env: 'TERSE_WRITES',
    read: oneOf('direct', 'queued'),
    default: 'direct',
    values: '`direct` or `queued`',
    doc: 'Whether a new link goes to the store at once or through a queue (docs/operations/queued-writes.md).',
  }),
  ...queueSettings,
  roles: list({
    env: 'TERSE_ROLES',
    read: roleList,
    default: 'all',
    values: '`all`, or a comma list of `redirect`, `api` and `worker`',
    doc: 'What this process does.',
  }),
  workers: number({
    env: 'TERSE_WORKERS',
    read: orWord('auto', wholeNumber(1, 256)),
    default: '1',
    values: '1 to 256, or `auto` for one per core',
    doc: 'How many processes serve the port (docs/operations/workers.md).',
  }),
  adminKey: text({
    env: 'TERSE_ADMIN_KEY',
    read: key(16),
    default: undefined,
    defaultWords:
      'made by the first process with the API; printed to a terminal, else in `admin-key` in `TERSE_DATA`',
    values: 'at least 16 printable ASCII characters without a space',
    doc: "The administrator's API key.",
    secret: true,
  }),
  anonymous: onOrOff({
    env: 'TERSE_ANONYMOUS',
    default: 'on',
    doc: 'Whether links can be created without a key.',
  }),
  signup: onOrOff({
    env: 'TERSE_SIGNUP',
    default: 'off',
    doc: 'Whether anyone can sign up; otherwise admins create and invite accounts.',
  }),
  ...limitSettings,
  ...connectionSettings,
  codeStrategy: text({
    env: 'TERSE_CODE_STRATEGY',
    read: oneOf(...codeStrategies),
    default: 'range',
    values: '`range`, `random`, `hash` or `snowflake`',
    doc: 'How short codes are made.',
  }),
  codeLength: integer({
    env: 'TERSE_CODE_LENGTH',
    range: [6, 12, 'at least 11 for `snowflake`'],
    default: earlier => (earlier.codeStrategy === 'snowflake' ? String(snowflakeCodeLengthMin) : '7'),
    defaultWords: '7 (`snowflake`: 11)',
    doc: 'Characters in a generated code.',
  }),
  rangeSize: integer({
    env: 'TERSE_RANGE_SIZE',
    range: [1, 1_000_000],
    default: '10000',
    doc: 'Ids that a process leases from the store at a time.',
  }),
  region: text({
    env: 'TERSE_REGION',
    read: region,
    default: '1/1',
    values: 'its number and how many there are, such as `2/4`; at most 64',
    doc: 'Which region this is: each issues codes from its own share, so that no two issue the same (docs/operations/regions.md).',
  }),
  machineId: integer({
    env: 'TERSE_MACHINE_ID',
    range: [0, 1023],
    default: '0',
    doc: 'Identifies the process in `snowflake` codes; each machine needs its own, workers take the next ones.',
  }),
  l1Entries: integer({
    env: 'TERSE_L1_ENTRIES',
    range: [1, 50_000_000],
    default: '1000000',
    doc: 'Links that each process keeps in memory at most.',
  }),
  l1Mb: integer({
    env: 'TERSE_L1_MB',
    range: [1, 1_024],
    default: '64',
    doc: 'Megabytes of links that each process keeps in memory at most; about 4,500 links take one.',
  }),
  l1TtlMs: integer({
    env: 'TERSE_L1_TTL_MS',
    range: [1000, 5000],
    default: '2000',
    doc: 'Milliseconds that a link stays in memory.',
  }),
  staleIfIsolatedS: integer({
    env: 'TERSE_STALE_IF_ISOLATED_S',
    range: [0, 86_400],
    default: '300',
    doc: 'Seconds that a process which reaches neither the store nor Redis keeps serving the links in memory; a kill may reach it that much later.',
  }),
  negativeTtlMs: integer({
    env: 'TERSE_NEGATIVE_TTL_MS',
    range: [100, 5000],
    default: '1000',
    doc: 'Milliseconds that the absence of a link is remembered.',
  }),
  ...edgeSettings,
  robots: text({
    env: 'TERSE_ROBOTS',
    read: orNone(headerValue),
    default: 'noindex',
    values: 'a header value of printable ASCII, or `none` to send no header',
    doc: 'The X-Robots-Tag of redirects.',
  }),
  expiredStatus: number({
    env: 'TERSE_EXPIRED_STATUS',
    read: text => (oneOf('410', '404')(text) === '410' ? 410 : 404),
    default: '410',
    values: '410 or 404',
    doc: 'The status that an expired link answers with.',
  }),
  domains: list({
    env: 'TERSE_DOMAINS',
    read: listOf(webHost),
    default: 'none',
    values: '`none`, or a comma list of host names without ports',
    doc: 'Further hosts of this server, rejected as destinations because they would loop.',
  }),
  reservedFile: text({
    env: 'TERSE_RESERVED_FILE',
    read: orNone(path),
    default: 'none',
    values: 'a path to a file with one word per line, or `none`',
    doc: 'Changes to the words that cannot be aliases: `word` adds one, `-word` removes one.',
  }),
  offensiveFile: text({
    env: 'TERSE_OFFENSIVE_FILE',
    read: orNone(path),
    default: 'none',
    values: 'a path to a file with one word per line, or `none`',
    doc: 'Changes to the offensive terms that aliases must not contain, written the same way.',
  }),
  ...abuseSettings,
  ...healthSettings,
  expiryGraceDays: integer({
    env: 'TERSE_EXPIRY_GRACE_DAYS',
    range: [0, 3650],
    default: '30',
    doc: 'Days until an expired link is deleted.',
  }),
  auditDays: integer({
    env: 'TERSE_AUDIT_DAYS',
    range: [auditDaysMin, 36_500],
    default: String(auditDaysDefault),
    doc: 'Days that the audit log keeps what owners did to their own links, keys and accounts; the rest is kept forever.',
  }),
  ...clickSettings,
  inFlightMax: integer({
    env: 'TERSE_IN_FLIGHT_MAX',
    range: [1, 1_000_000],
    default: '4096',
    doc: 'Requests of one kind (following links, reading, changing) in progress beyond which the server answers 503.',
  }),
  ...observationSettings,
  server: client({
    env: 'TERSE_SERVER',
    read: origin,
    default: 'http://localhost:8080',
    values: 'an http or https origin without a path',
    doc: 'The server that client commands call.',
  }),
  key: client({
    env: 'TERSE_KEY',
    read: key(1),
    default: undefined,
    defaultWords: 'the value of `TERSE_ADMIN_KEY`',
    values: 'printable ASCII characters without a space',
    doc: 'The API key that client commands use.',
    secret: true,
  }),
} as const;

export type SettingName = keyof typeof settings;

export const settingNames = Object.keys(settings) as readonly SettingName[];

/** The same row without its precise type, for code that treats all settings alike. */
export function settingOf(name: SettingName): Setting<unknown> {
  return settings[name];
}

export function flagOf(name: SettingName): string {
  return `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;
}
