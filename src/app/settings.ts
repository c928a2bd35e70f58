/**
 * Every setting of Terse, in one table: what it is called, how it is read, what it is when nobody says, and
 * what it does. The loader, `terse config`, `terse help` and the README's table are all made from it.
 * The flag of a setting is its name in kebab case; its key in the configuration file is its name.
 * Invariant: a default is text and goes through the same reader as any other value.
 */
import { abuseSettings } from './abuse-settings.ts';
import { cacheSettings } from './cache-settings.ts';
import { clickSettings } from './click-settings.ts';
import { limitSettings } from './limit-settings.ts';
import { queueSettings } from './queue-settings.ts';
import { client, list, number, onOrOff, type Setting, text } from './setting-row.ts';
import {
  cidr,
  engine,
  headerValue,
  key,
  listenHost,
  listOf,
  oneOf,
  origin,
  orNone,
  orWord,
  path,
  Refused,
  streamAddress,
  webHost,
  wholeNumber,
} from './setting-values.ts';

export type { Audience } from './setting-row.ts';

export const roles = ['all', 'redirect', 'api', 'worker'] as const;
export type Role = (typeof roles)[number];

export const codeStrategies = ['range', 'random', 'hash', 'snowflake'] as const;
export type CodeStrategy = (typeof codeStrategies)[number];

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

function roleList(text: string): readonly Role[] {
  const chosen = listOf(oneOf(...roles))(text);
  if (chosen.length === 0) throw new Refused();
  if (chosen.includes('all') && chosen.length > 1) throw new Refused('all stands alone');
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
  port: number({
    env: 'PORT',
    read: wholeNumber(0, 65_535),
    default: '8080',
    values: '0 to 65535; 0 takes any free port',
    doc: 'The port to listen on.',
  }),
  host: text({
    env: 'HOST',
    read: listenHost,
    default: '127.0.0.1',
    values: 'an IP address or a host name; `0.0.0.0` or `::` for every interface',
    doc: 'The address to listen on.',
  }),
  baseUrl: text({
    env: 'TERSE_BASE_URL',
    read: origin,
    default: earlier => `http://localhost:${earlier.port}`,
    defaultWords: 'http://localhost:PORT',
    values: 'an http or https origin without a path, such as `https://sho.rt`',
    doc: 'The public origin of short links.',
  }),
  data: text({
    env: 'TERSE_DATA',
    read: path,
    default: './data',
    values: 'a path to a folder',
    doc: 'The folder of the embedded storage; made when it is missing.',
  }),
  links: text({
    env: 'TERSE_LINKS',
    read: engine(['sqlite', 'memory'], ['postgres', 'dynamodb']),
    default: 'sqlite',
    values: '`sqlite`, `memory`, `postgres://…` or `dynamodb://…`',
    doc: 'Where links are kept; `memory` forgets them at the end.',
  }),
  cache: text({
    env: 'TERSE_CACHE',
    read: engine(['none'], ['redis', 'rediss', 'redis-cluster']),
    default: 'none',
    values: '`none`, `redis://…`, `rediss://…` (TLS) or `redis-cluster://…`',
    doc: 'The cache that processes share, beside the one inside each.',
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
    read: engine(['sqlite'], ['clickhouse']),
    default: 'sqlite',
    values: '`sqlite` or `clickhouse://…`',
    doc: 'Where click statistics are kept.',
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
    defaultWords: 'made at the first start and printed once',
    values: 'at least 16 printable ASCII characters without a space',
    doc: "The administrator's API key.",
    secret: true,
  }),
  anonymous: onOrOff({
    env: 'TERSE_ANONYMOUS',
    default: 'on',
    doc: 'Whether links can be made without a key.',
  }),
  signup: onOrOff({
    env: 'TERSE_SIGNUP',
    default: 'off',
    doc: 'Whether anyone can make themselves an account; otherwise admins make and invite them.',
  }),
  ...limitSettings,
  trustedProxies: list({
    env: 'TERSE_TRUSTED_PROXIES',
    read: listOf(cidr),
    default: 'none',
    values: '`none`, or a comma list of ranges such as `10.0.0.0/8,fd00::/8`',
    doc: 'The peers that may say whom they forward for.',
  }),
  codeStrategy: text({
    env: 'TERSE_CODE_STRATEGY',
    read: oneOf(...codeStrategies),
    default: 'range',
    values: '`range`, `random`, `hash` or `snowflake`',
    doc: 'How short codes are made.',
  }),
  codeLength: number({
    env: 'TERSE_CODE_LENGTH',
    read: wholeNumber(6, 12),
    default: earlier => (earlier.codeStrategy === 'snowflake' ? String(snowflakeCodeLengthMin) : '7'),
    defaultWords: '7 (`snowflake`: 11)',
    values: '6 to 12; at least 11 for `snowflake`',
    doc: 'Characters in a generated code.',
  }),
  rangeSize: number({
    env: 'TERSE_RANGE_SIZE',
    read: wholeNumber(1, 1_000_000),
    default: '10000',
    values: '1 to 1000000',
    doc: 'Ids that a process leases from the store at a time.',
  }),
  machineId: number({
    env: 'TERSE_MACHINE_ID',
    read: wholeNumber(0, 1023),
    default: '0',
    values: '0 to 1023',
    doc: 'Tells apart the processes that make `snowflake` codes; each needs its own, workers take the ones after it.',
  }),
  l1Entries: number({
    env: 'TERSE_L1_ENTRIES',
    read: wholeNumber(1, 50_000_000),
    default: '200000',
    values: '1 to 50000000',
    doc: 'Links that each process keeps in memory at most.',
  }),
  l1TtlMs: number({
    env: 'TERSE_L1_TTL_MS',
    read: wholeNumber(1000, 5000),
    default: '2000',
    values: '1000 to 5000',
    doc: 'Milliseconds that a link stays in memory.',
  }),
  negativeTtlMs: number({
    env: 'TERSE_NEGATIVE_TTL_MS',
    read: wholeNumber(100, 5000),
    default: '1000',
    values: '100 to 5000',
    doc: 'Milliseconds that the absence of a link is remembered.',
  }),
  edgeTtlS: number({
    env: 'TERSE_EDGE_TTL_S',
    read: wholeNumber(0, 31_536_000),
    default: '0',
    values: '0 to 31536000; 0 for no caching at the edge',
    doc: 'Seconds that a CDN may keep a redirect.',
  }),
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
    doc: 'Further hosts of ours, refused as destinations because they would loop.',
  }),
  reservedFile: text({
    env: 'TERSE_RESERVED_FILE',
    read: orNone(path),
    default: 'none',
    values: 'a path to a file with one word per line, or `none`',
    doc: 'Changes to the words that cannot be aliases: `word` adds one, `-word` takes one away.',
  }),
  offensiveFile: text({
    env: 'TERSE_OFFENSIVE_FILE',
    read: orNone(path),
    default: 'none',
    values: 'a path to a file with one word per line, or `none`',
    doc: 'Changes to the offensive terms that aliases must not contain, written the same way.',
  }),
  ...abuseSettings,
  expiryGraceDays: number({
    env: 'TERSE_EXPIRY_GRACE_DAYS',
    read: wholeNumber(0, 3650),
    default: '30',
    values: '0 to 3650',
    doc: 'Days that an expired link is kept before it is purged.',
  }),
  ...clickSettings,
  connections: number({
    env: 'TERSE_CONNECTIONS',
    read: wholeNumber(16, 1_000_000),
    default: '10000',
    values: '16 to 1000000',
    doc: 'Clients connected at once; fewer where the system allows the process fewer open files.',
  }),
  inFlightMax: number({
    env: 'TERSE_IN_FLIGHT_MAX',
    read: wholeNumber(1, 1_000_000),
    default: '4096',
    values: '1 to 1000000',
    doc: 'Requests in progress beyond which the server answers 503.',
  }),
  logLevel: text({
    env: 'TERSE_LOG_LEVEL',
    read: oneOf(...logLevels),
    default: 'info',
    values: '`debug`, `info`, `warn`, `error` or `silent`',
    doc: 'The least important events that are logged.',
  }),
  server: client({
    env: 'TERSE_SERVER',
    read: origin,
    default: 'http://localhost:8080',
    values: 'an http or https origin without a path',
    doc: 'The server that the other commands speak to.',
  }),
  key: client({
    env: 'TERSE_KEY',
    read: key(1),
    default: undefined,
    defaultWords: 'the value of `TERSE_ADMIN_KEY`',
    values: 'printable ASCII characters without a space',
    doc: 'The API key that the other commands use.',
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
