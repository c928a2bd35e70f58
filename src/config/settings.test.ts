import { describe, expect, test } from 'bun:test';
import { type GivenSettings, load, refusal } from './fake-connection-context.ts';
import { flagOf, type SettingName, settings } from './settings.ts';

interface Case {
  default: unknown;
  text: string;
  value: unknown;
  wrong: string[];
  message: string;
}

const integer = (initial: number, min: number, max: number, message = `use ${min} to ${max}`): Case => ({
  default: initial,
  text: String(max),
  value: max,
  wrong: [String(max + 1), ...(min > 0 ? [String(min - 1)] : ['-1']), 'x', '1.5', '1e3', ' 1', '0x10', '007'],
  message,
});

const engineUrl = (initial: string, text: string, wrong: string[], message: string): Case => {
  return { default: initial, text, value: text, wrong, message };
};

const wordFile: Case = {
  default: undefined,
  text: '/etc/words',
  value: '/etc/words',
  wrong: ['a\0b'],
  message: 'use a path to a file with one word per line, or none',
};

const pemFile: Case = { ...wordFile, message: 'use a path to a PEM file, or none' };

const listenAddress: Case = {
  default: '127.0.0.1',
  text: '::1',
  value: '::1',
  wrong: ['256.0.0.1', 'a b', '-a', 'http://x', '[::1]', 'a..b', 'host:80'],
  message: 'use an IP address or a host name',
};

const ranges: Case = {
  default: [],
  text: '10.0.0.0/8, FD00::/8,192.0.2.7,::1',
  value: ['10.0.0.0/8', 'fd00::/8', '192.0.2.7/32', '::1/128'],
  wrong: [
    '10.0.0.0/33',
    '::/129',
    '10.0.0/8',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    'fe80::1%eth0',
    'x',
    'x,',
  ],
  message: 'use none, or a comma list of ranges such as 10.0.0.0/8,fd00::/8',
};

/** One row per setting; the type makes a setting without a row an error. */
const cases: Record<Exclude<SettingName, 'config'>, Case> = {
  port: integer(8080, 0, 65_535, 'use 0 to 65535; 0 takes any free port'),
  host: listenAddress,
  baseUrl: {
    default: 'http://localhost:8080',
    text: 'HTTPS://Sho.RT:443/',
    value: 'https://sho.rt',
    wrong: [
      'sho.rt',
      'ftp://sho.rt',
      'https:sho.rt',
      'https://sho.rt/go',
      'https://sho.rt/?',
      'https://u:p@sho.rt',
    ],
    message: 'use an http or https origin without a path, such as https://sho.rt',
  },
  tlsCertificate: pemFile,
  tlsKey: pemFile,
  hstsMaxAgeS: integer(31_536_000, 0, 63_072_000, 'use 0 to 63072000; 0 makes browsers forget it'),
  data: { default: './data', text: '/var/terse', value: '/var/terse', wrong: ['a\0'], message: 'use a path' },
  links: engineUrl(
    'sqlite',
    'postgres://terse:pw@db1:5432,db2:5432/terse?sslmode=require',
    ['mysql://h', 'postgres://', 'postgres:/h', 'redis://h', 'sqlit', 'postgres://h/db x'],
    'use sqlite, memory, postgres://… or dynamodb://…',
  ),
  cache: engineUrl(
    'none',
    'redis-cluster://a:7000,b:7001,[::1]:7002',
    ['redis', 'redis://', 'redis-cluster://a:1,,b:2', 'memcached://h'],
    'use none, redis://…, rediss://… (TLS) or redis-cluster://…',
  ),
  stream: engineUrl(
    'embedded',
    'kafka://a:9092,b:9092/clicks',
    ['kafka', 'none', 'kafka://h:1', 'kafka://h:1/t?acks=0', 'kafka://h:1/t?partitions=0'],
    'use embedded, kafka://…/TOPIC or kafkas://… (TLS)',
  ),
  stats: engineUrl(
    'sqlite',
    'clickhouse://h:8123/terse',
    ['clickhouse://', 'memory', 'clickhouse://h:8123', 'clickhouse://h/terse?tls=on', 'clickhouse://h/a-b'],
    'use sqlite or clickhouse://…/DATABASE',
  ),
  writes: {
    default: 'direct',
    text: 'queued',
    value: 'queued',
    wrong: ['DIRECT', 'fast'],
    message: 'use direct or',
  },
  drainPerS: integer(200, 1, 1_000_000),
  queueMax: integer(1_000_000, 1, 1_000_000_000),
  roles: {
    default: ['all'],
    text: 'api, redirect,api',
    value: ['api', 'redirect'],
    wrong: ['none', 'all,api', 'api,', 'cook'],
    message: 'use all, or a comma list of redirect, api and worker',
  },
  workers: { ...integer(1, 1, 256, 'use 1 to 256, or auto for one per core'), text: 'auto', value: 'auto' },
  adminKey: {
    default: undefined,
    text: 'sixteen-chars-ok',
    value: 'sixteen-chars-ok',
    wrong: [
      'fifteen-chars-x',
      'has a space in the middle',
      'not-ascii-é-but-long-enough',
      'new\nline-long-enough',
    ],
    message:
      'TERSE_ADMIN_KEY=(hidden) is not allowed: use at least 16 printable ASCII characters without a space',
  },
  anonymous: {
    default: true,
    text: 'off',
    value: false,
    wrong: ['no', 'false', 'OFF'],
    message: 'use on or off',
  },
  signup: {
    default: false,
    text: 'on',
    value: true,
    wrong: ['no', 'false', 'OFF'],
    message: 'use on or off',
  },
  limits: {
    default: ['default'],
    text: 'free=200/h, anonymous=off',
    value: ['free=200/h', 'anonymous=off'],
    wrong: ['none', 'on', 'free', 'free=1', 'free=0/h', 'gold=1/h', 'free=1/h,free=2/h', 'off,free=1/h'],
    message: 'use default, off, or a comma list of changes',
  },
  redirectLimit: {
    default: ['off'],
    text: '600/min,anonymous=60/min',
    value: ['600/min', 'anonymous=60/min'],
    wrong: ['none', '600', '600/minute', '1/s,2/s', 'gold=1/h', 'free='],
    message: 'use off, a rate such as 600/min',
  },
  probeLimit: {
    default: '60/min',
    text: 'off',
    value: 'off',
    wrong: ['none', '60', '0/min', '60/m', '60/min,1/s'],
    message: 'use off, or a rate such as 60/min',
  },
  trustedProxies: ranges,
  proxyProtocol: {
    default: false,
    text: 'on',
    value: true,
    wrong: ['v2', '1'],
    message: 'use on or off',
  },
  addressSharePercent: integer(50, 1, 100, 'use 1 to 100'),
  keepAliveS: integer(75, 1, 3600, 'use 1 to 3600; more than proxies'),
  codeStrategy: {
    default: 'range',
    text: 'hash',
    value: 'hash',
    wrong: ['uuid'],
    message: 'use range, random, hash or snowflake',
  },
  codeLength: integer(7, 6, 12, 'use 6 to 12; at least 11 for snowflake'),
  rangeSize: integer(10_000, 1, 1_000_000),
  region: {
    default: '1/1',
    text: '3/16',
    value: '3/16',
    wrong: ['0/2', '3/2', '1/65', '2', '1/2/3', 'eu'],
    message: 'use its number and how many there are, such as 2/4; at most 64',
  },
  linkHealth: { default: false, text: 'on', value: true, wrong: ['yes', 'true'], message: 'use on or off' },
  linkHealthHours: integer(24, 1, 8_760),
  linkHealthRate: integer(5, 1, 1_000),
  linkHealthNetworks: {
    default: [],
    text: '10.20.0.0/16,fd00::/8',
    value: ['10.20.0.0/16', 'fd00::/8'],
    wrong: ['10.0.0.0/33', 'intranet'],
    message: 'use none, or a comma list of ranges such as 10.20.0.0/16',
  },
  machineId: integer(0, 0, 1023),
  l1Entries: integer(1_000_000, 1, 50_000_000),
  l1Mb: integer(64, 1, 1_024),
  l1TtlMs: integer(2000, 1000, 5000),
  staleIfIsolatedS: integer(300, 0, 86_400),
  negativeTtlMs: integer(1000, 100, 5000),
  cacheTtlS: integer(86_400, 1, 31_536_000),
  cacheNewTtlS: integer(86_400, 1, 31_536_000),
  cachePopularTtlS: integer(86_400, 1, 31_536_000),
  cacheAliasTtlS: integer(86_400, 1, 31_536_000),
  cacheGoneTtlS: integer(3_600, 1, 31_536_000),
  cacheNegativeTtlS: integer(30, 1, 31_536_000),
  cacheWriteThrough: {
    default: false,
    text: 'on',
    value: true,
    wrong: ['yes', '1'],
    message: 'use on or off',
  },
  edgeTtlS: integer(0, 0, 31_536_000),
  edgeClicks: {
    default: 'log',
    text: 'revalidate',
    value: 'revalidate',
    wrong: ['logs', 'none'],
    message: 'use log or revalidate',
  },
  edgePurge: {
    default: [],
    text: 'http://varnish:6081/, http://nginx/{code},fastly://SU1Z0,cloudfront://E1',
    value: ['http://varnish:6081/', 'http://nginx/{code}', 'fastly://SU1Z0', 'cloudfront://E1'],
    wrong: ['varnish', 'http://u:p@varnish/', 'http://{code}/', 'fastly://', 'a,,b'],
    message: 'use none, or a comma list of http://HOST/, http://HOST/{code}, fastly://SERVICE and',
  },
  edgePurgeToken: {
    default: undefined,
    text: 'token-0123',
    value: 'token-0123',
    wrong: ['has a space', 'not-ascii-é'],
    message: 'use none, or printable ASCII characters without a space',
  },
  robots: {
    default: 'noindex',
    text: 'noindex, nofollow',
    value: 'noindex, nofollow',
    wrong: ['a\r\nSet-Cookie: x', 'é', ' a', 'a ', 'x'.repeat(257)],
    message: 'use a header value of printable ASCII, or none to send no header',
  },
  expiredStatus: { default: 410, text: '404', value: 404, wrong: ['200', '0410'], message: 'use 410 or 404' },
  domains: {
    default: [],
    text: 'Go.Example.com.,bücher.example,[::1]',
    value: ['go.example.com', 'xn--bcher-kva.example', '[::1]'],
    wrong: ['https://a.b', 'a.b:80', 'a.b/x', 'u@a.b', 'a b', 'a,,b'],
    message: 'use none, or a comma list of host names without ports',
  },
  reservedFile: wordFile,
  offensiveFile: wordFile,
  blocklists: {
    default: [],
    text: 'lists/phishing.txt, /etc/terse/own.txt',
    value: ['lists/phishing.txt', '/etc/terse/own.txt'],
    wrong: ['a,,b', 'a\0'],
    message: 'use none, or a comma list of paths to files',
  },
  domainAges: { ...wordFile, message: 'use a path to a file with a domain and a day per line, or none' },
  riskFile: { ...wordFile, message: 'use a path to a JSON file, or none' },
  riskQuarantine: integer(60, 0, 100),
  riskBlock: integer(85, 0, 100),
  expiryGraceDays: integer(30, 0, 3650),
  auditDays: integer(365, 30, 36_500),
  clicks: { default: true, text: 'off', value: false, wrong: ['yes', '1'], message: 'use on or off' },
  clickDays: integer(90, 1, 3650),
  archive: {
    default: undefined,
    text: 's3://terse-archive/eu?region=eu-west-1&endpoint=http://127.0.0.1:9000',
    value: 's3://terse-archive/eu?region=eu-west-1&endpoint=http://127.0.0.1:9000',
    wrong: ['s3', 's3://', 's3://terse:9000', 's3://terse?acl=public', 'https://terse'],
    message: 'use none or s3://BUCKET/PREFIX?region=…',
  },
  minuteDays: integer(14, 1, 3650),
  clickSpill: {
    default: './data/spill',
    text: '/var/spill/terse',
    value: '/var/spill/terse',
    wrong: ['a\0'],
    message: 'use a path to a folder that no other installation uses',
  },
  clickSpillMb: integer(256, 0, 1_048_576, 'use 0 to 1048576; 0 to keep them in memory only'),
  suspiciousAddressRate: integer(120, 0, 1_000_000, 'use 0 to 1000000; 0 for never'),
  suspiciousAgentRate: integer(600, 0, 1_000_000, 'use 0 to 1000000; 0 for never'),
  safeBrowsingKey: {
    default: undefined,
    text: 'AIza-example',
    value: 'AIza-example',
    wrong: ['has a space', 'not-ascii-é', 'new\nline'],
    message: 'use a key for the Safe Browsing API, or none',
  },
  safeBrowsingUrl: {
    default: 'https://safebrowsing.googleapis.com',
    text: 'http://127.0.0.1:8090/',
    value: 'http://127.0.0.1:8090',
    wrong: ['lists.example', 'https://lists.example/v5', 'ftp://lists.example'],
    message: 'use an http or https origin without a path',
  },
  geoFile: {
    default: undefined,
    text: '/var/geo.mmdb',
    value: '/var/geo.mmdb',
    wrong: ['a\0'],
    message: 'use a path to an MMDB file',
  },
  connections: integer(10_000, 16, 1_000_000),
  inFlightMax: integer(4096, 1, 1_000_000),
  logLevel: {
    default: 'info',
    text: 'silent',
    value: 'silent',
    wrong: ['trace'],
    message: 'use debug, info, warn,',
  },
  logRedirects: integer(1_000, 0, 1_000_000, 'use 0 to 1000000; 0 for none'),
  metrics: engineUrl('private', 'public', ['on', 'Private', 'none'], 'use private, public or off'),
  metricsNetworks: ranges,
  metricsPort: {
    default: undefined,
    text: '9090',
    value: 9090,
    wrong: ['0', '65536', 'x'],
    message: 'use 1 to 65535, or none',
  },
  metricsHost: listenAddress,
  traces: {
    default: undefined,
    text: 'http://127.0.0.1:4318/',
    value: 'http://127.0.0.1:4318',
    wrong: ['collector:4318', 'http://127.0.0.1:4318/v1/traces', 'grpc://127.0.0.1:4317'],
    message: 'use an http or https origin such as',
  },
  traceOneIn: integer(1, 1, 1_000_000),
  server: {
    default: 'http://localhost:8080',
    text: 'https://sho.rt/',
    value: 'https://sho.rt',
    wrong: ['sho.rt', 'https://sho.rt/api'],
    message: 'use an http or https origin without a path',
  },
  key: {
    default: undefined,
    text: 'k',
    value: 'k',
    wrong: ['a b', 'a\u007f'],
    message: 'TERSE_KEY=(hidden) is not',
  },
};

describe.each(Object.entries(cases) as [SettingName, Case][])('%s', (name, row) => {
  const { env } = settings[name];

  test('has its default when it is not set', () => {
    expect(load()[name]).toEqual(row.default as never);
    expect(load().sources[name]).toBe('default');
  });

  test.each([
    ['environment', { env: { [env]: row.text } }],
    ['file', { file: { [name]: row.text } }],
    ['flag', { argv: [flagOf(name), row.text] }],
    ['flag', { argv: [`${flagOf(name)}=${row.text}`] }],
  ] as const)('can come from the %s', (source, given) => {
    const config = load(given as GivenSettings);
    expect(config[name]).toEqual(row.value as never);
    expect(config.sources[name]).toBe(source);
  });

  test.each(row.wrong)('refuses %j with one line that says what is allowed', wrong => {
    const line = refusal({ env: { [env]: wrong } });
    expect(line).toStartWith(`${env}=`);
    expect(line).toContain(row.message);
    expect(line).not.toContain('\n');
    expect(refusal({ argv: [`${flagOf(name)}=${wrong}`] })).toStartWith(`${flagOf(name)}=`);
    expect(refusal({ file: { [name]: wrong } })).toMatch(
      new RegExp(`^${name}=.* in terse.json is not allowed`),
    );
  });

  test('refuses an empty value where it was clearly meant', () => {
    refusal({ argv: [`${flagOf(name)}=`] });
    refusal({ file: { [name]: '' } });
    expect(load({ env: { [env]: '' } })[name]).toEqual(row.default as never);
  });
});
