import { describe, expect, test } from 'bun:test';
import { ConfigError, dutiesOf, hasAwsCredentials, loadConfig, requireSupported } from './config.ts';
import { type GivenSettings, load, noFile, refusal } from './fake-connection-context.ts';
import { separateFlags } from './sources.ts';

describe('precedence of the sources', () => {
  test('a flag beats the environment, which beats the file, which beats the default', () => {
    const file = { port: 1, host: 'file', data: 'file' };
    const config = load({ argv: ['--port', '3'], env: { PORT: '2', HOST: 'environment' }, file });
    expect([config.port, config.host, config.data, config.logLevel]).toEqual([
      3,
      'environment',
      'file',
      'info',
    ]);
    const { port, host, data, logLevel } = config.sources;
    expect([port, host, data, logLevel]).toEqual(['flag', 'environment', 'file', 'default']);
  });

  test('--config beats TERSE_CONFIG', () => {
    const readFile = (path: string): string => JSON.stringify({ host: path });
    const env = { TERSE_CONFIG: 'weak' };
    expect(loadConfig({ argv: ['--config=strong'], env, readFile }).host).toBe('strong');
    expect(loadConfig({ argv: [], env, readFile })).toMatchObject({ host: 'weak', config: 'weak' });
    expect(loadConfig({ argv: ['--config=none'], env, readFile })).toMatchObject({ host: '127.0.0.1' });
  });
});

describe('settings that depend on one another', () => {
  test('the base URL follows the port and the address unless it is given', () => {
    expect(load({ argv: ['--port=9000'] }).baseUrl).toBe('http://localhost:9000');
    for (const [host, origin] of [
      ['0.0.0.0', 'http://localhost:8080'],
      ['::', 'http://localhost:8080'],
      ['10.1.2.3', 'http://10.1.2.3:8080'],
      ['::1', 'http://[::1]:8080'],
      ['inside.example', 'http://inside.example:8080'],
    ] as const)
      expect(load({ env: { HOST: host } }).baseUrl).toBe(origin);
    expect(load({ argv: ['--port=9000', '--base-url=https://sho.rt'] }).baseUrl).toBe('https://sho.rt');
  });

  test('snowflake codes have 11 characters unless 12 are asked for, and never fewer', () => {
    const snowflake = { TERSE_CODE_STRATEGY: 'snowflake' };
    expect(load({ env: snowflake }).codeLength).toBe(11);
    expect(load({ env: { ...snowflake, TERSE_CODE_LENGTH: '12' } }).codeLength).toBe(12);
    expect(refusal({ env: { ...snowflake, TERSE_CODE_LENGTH: '10' } })).toBe(
      'TERSE_CODE_LENGTH=10 is not allowed: the snowflake strategy needs 11 or 12 characters',
    );
  });
});

describe('unknown names', () => {
  test.each([
    [{ argv: ['--prot', '1'] }, '--prot is not a flag: did you mean --port?'],
    [{ argv: ['--base_url=x'] }, '--base_url is not a flag: did you mean --base-url?'],
    [{ argv: ['-p'] }, '-p is not a flag; `terse help serve` lists them'],
    [{ argv: ['9000'] }, 'unexpected argument 9000'],
    [{ argv: ['--port'] }, '--port needs a value'],
    [{ argv: ['--port', '--host'] }, '--port needs a value'],
    [{ argv: ['--port=1', '--port', '2'] }, '--port is set twice'],
    [
      { env: { TERSE_PORT: '1' } },
      'the environment variable TERSE_PORT is not a setting: did you mean PORT?',
    ],
    [
      { env: { TERSE_LINK: 'x' } },
      'the environment variable TERSE_LINK is not a setting: did you mean TERSE_LINKS?',
    ],
    [{ file: { base_url: 'x' } }, 'base_url in terse.json is not a setting: did you mean baseUrl?'],
    [{ file: { TERSE_LINKS: 'x' } }, 'TERSE_LINKS in terse.json is not a setting: did you mean links?'],
    [{ file: '{"__proto__": 1}' }, '__proto__ in terse.json is not a setting; `terse help serve` lists them'],
    [{ file: { config: 'x' } }, 'config cannot be set in terse.json: a file names no other file'],
  ] as [GivenSettings, string][])('%j stops with a line that helps', (given, line) => {
    expect(refusal(given)).toBe(line);
  });

  test('variables of other programs and of the test kit are ignored', () => {
    expect(load({ env: { PATH: '/bin', TERSE_TEST_REQUIRE: 'redis', PORTS: 'x' } }).port).toBe(8080);
  });

  test('flags of the commands are refused by the server', () => {
    const input = { argv: ['--key=sixteen-chars-ok'], env: {}, readFile: noFile };
    expect(() => loadConfig({ ...input, audiences: ['server'] })).toThrow('--key is not a flag');
    expect(loadConfig({ ...input, audiences: ['client'] }).key).toBe('sixteen-chars-ok');
  });

  test('a misspelled word is answered with the right one', () => {
    expect(refusal({ env: { TERSE_WRITES: 'queud' } })).toBe(
      'TERSE_WRITES=queud is not allowed: use direct or queued (did you mean queued?)',
    );
  });
});

describe('hints', () => {
  test.each([
    [{ TERSE_ROLES: 'api,' }, '(an item of the list is empty)'],
    [{ TERSE_ROLES: 'all,api' }, '(all cannot be combined with others)'],
    [{ TERSE_BASE_URL: 'https://u:p@sho.rt' }, '(leave out the user and password)'],
    [{ TERSE_BASE_URL: 'https://sho.rt/go' }, '(leave out everything after the host and port)'],
    [{ TERSE_TRUSTED_PROXIES: '10.0.0.0/8,10.0.0.0/99' }, '(10.0.0.0/99 is not an address range)'],
    [{ TERSE_DOMAINS: 'a.b,c.d:80' }, '(c.d:80 is not a host name)'],
    [{ TERSE_LINKS: 'sqlit' }, '(did you mean sqlite?)'],
  ])('%j gets a message that says exactly what is wrong', (env: Record<string, string>, hint) => {
    expect(refusal({ env })).toEndWith(hint);
  });
});

describe('flags among other arguments', () => {
  test('are taken out for the audiences asked for, up to --', () => {
    const argv = ['--port', '1', 'url', '--title=x', '--key=k', '--config=f', '--', '--port=2'];
    expect(separateFlags(argv, ['server'])).toEqual({
      flags: ['--port=1', '--config=f'],
      rest: ['url', '--title=x', '--key=k', '--', '--port=2'],
    });
  });
});

describe('the file', () => {
  test('may write numbers, lists and switches as JSON', () => {
    const file = { port: 9000, roles: ['api', 'worker'], domains: [], anonymous: false, workers: 'auto' };
    expect(load({ file })).toMatchObject(file);
  });

  test.each([
    ['port', true, 'a number'],
    ['host', 1, 'a string'],
    ['roles', [1], 'a list of strings'],
    ['port', [1], 'a number'],
    ['data', null, 'a string'],
    ['anonymous', {}, 'true or false'],
  ])('says which JSON %s must be when it is %j', (name, value, expected) => {
    expect(refusal({ file: { [name]: value } })).toBe(`${name} in terse.json must be ${expected}`);
  });

  test.each([
    ['{"adminKey": "very-secret-admin-key" oops', 'the configuration file terse.json is not valid JSON'],
    ['[]', 'the configuration file terse.json must hold one JSON object'],
    ['null', 'the configuration file terse.json must hold one JSON object'],
  ])('that holds %s is refused by name', (file, line) => {
    expect(refusal({ file })).toBe(line);
  });

  test('that is missing is named with the reason', () => {
    const readFile = (): string => {
      throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    };
    expect(() => loadConfig({ argv: ['--config=gone.json'], env: {}, readFile })).toThrow(
      new ConfigError('the configuration file gone.json cannot be read (ENOENT)'),
    );
  });
});

describe('links in memory', () => {
  test('are for one process: several would each have their own', () => {
    expect(load({ argv: ['--links=memory', '--workers=1'] }).links).toBe('memory');
    for (const workers of ['2', 'auto']) {
      expect(refusal({ env: { TERSE_LINKS: 'memory' }, argv: [`--workers=${workers}`] })).toBe(
        'TERSE_LINKS=memory is not allowed with several workers: each would have links of its own; use sqlite, or 1 worker',
      );
    }
  });
});

describe('which engines go together', () => {
  test('the defaults can be started', () => {
    expect(() => requireSupported(load())).not.toThrow();
    expect(() =>
      requireSupported(load({ argv: ['--links=memory', '--workers=1', '--roles=all'] })),
    ).not.toThrow();
  });

  test.each([
    'postgres://u:hunter2@h:5432/db?replica=h2:5432',
    'dynamodb://table?region=eu-west-1&endpoint=http://127.0.0.1:8000',
  ])('links in %s can be started', links => {
    expect(() => requireSupported(load({ env: { TERSE_LINKS: links } }))).not.toThrow();
  });

  test.each(['redis://h:6379', 'rediss://u:hunter2@h:6380/1', 'redis-cluster://h:1,h:2'])(
    'a cache in %s can be started',
    cache => {
      expect(() => requireSupported(load({ env: { TERSE_CACHE: cache } }))).not.toThrow();
    },
  );

  test.each(['kafka://h:9092/t', 'kafkas://u:hunter2@a:1,b:2/t?partitions=24&replication=3&minInsync=2'])(
    'a stream in %s can be started',
    stream => {
      expect(() => requireSupported(load({ env: { TERSE_STREAM: stream } }))).not.toThrow();
    },
  );

  test('statistics in ClickHouse can be started with Kafka, and not without', () => {
    const env = { TERSE_STATS: 'clickhouse://u:hunter2@h:1/d' };
    expect(() => requireSupported(load({ env: { ...env, TERSE_STREAM: 'kafka://h:9092/t' } }))).not.toThrow();
    expect(() => requireSupported(load({ env }))).toThrow(
      new ConfigError(
        'TERSE_STATS=clickhouse://***@h:1/d needs TERSE_STREAM=kafka://…, which carries the clicks there',
      ),
    );
  });
});

describe('secrets', () => {
  const secret = 'hunter2-hunter2-hunter2';

  test.each([
    { env: { TERSE_ADMIN_KEY: `${secret} x` } },
    { argv: ['--admin-key', `${secret} x`] },
    { file: { adminKey: `${secret} x` } },
    { file: { adminKey: [secret] } },
    { argv: [`--admin-kye=${secret}`] },
    { argv: ['--admin-kye', secret] },
    { env: { TERSE_ADMIN_KYE: secret } },
    { file: { adminKye: secret } },
    { env: { TERSE_LINKS: `postgress://user:${secret}@h/db` } },
    { env: { TERSE_LINKS: `postgres:/user:${secret}@h` } },
    { env: { TERSE_LINKS: `user:p@${secret}@h` } },
    { env: { TERSE_LINKS: `dynamodb://t?region=x&secretAccessKey=${secret} ` } },
    { env: { TERSE_BASE_URL: `https://u:${secret}@sho.rt` } },
  ] as GivenSettings[])('%j is refused without showing it', given => {
    expect(refusal(given)).not.toContain(secret);
  });
});

describe('a value in a file that the environment names', () => {
  const files: Record<string, string> = {
    '/run/secrets/links': 'postgres://terse:hunter2@db/terse\n',
    '/run/secrets/short': 'short\r\n',
  };
  const readFile = (path: string): string => {
    const content = files[path];
    if (content === undefined) throw Object.assign(new Error('there is none'), { code: 'ENOENT' });
    return content;
  };
  const given = (env: Record<string, string>) => () => loadConfig({ argv: [], env, readFile });

  test('is that of the setting, without the end of its line', () => {
    const config = given({ TERSE_LINKS_FILE: '/run/secrets/links', TERSE_CACHE_FILE: '' })();
    expect(config.links).toBe('postgres://terse:hunter2@db/terse');
    expect(config.sources.links).toBe('environment');
    expect(config.cache).toBe('none');
  });

  test.each([
    [{ TERSE_LINKS_FILE: '/run/secrets/none' }, 'TERSE_LINKS_FILE=/run/secrets/none cannot be read (ENOENT)'],
    [
      { TERSE_LINKS: 'sqlite', TERSE_LINKS_FILE: '/run/secrets/links' },
      'TERSE_LINKS is given both as it is and in a file',
    ],
    [{ TERSE_ADMIN_KEY_FILE: '/run/secrets/short' }, 'TERSE_ADMIN_KEY=(hidden) is not allowed'],
    [{ TERSE_LINK_FILE: '/x' }, 'the environment variable TERSE_LINK_FILE is not a setting'],
    [{ TERSE_CONFIG_FILE: '/x' }, 'the environment variable TERSE_CONFIG_FILE is not a setting'],
  ])('%j is refused', (env, line) => {
    expect(given(env as Record<string, string>)).toThrow(line);
  });

  test('has nothing to do with variables that are not ours, nor with settings that end like it', () => {
    const config = given({ PORT_FILE: '/x', TERSE_GEO_FILE: '/var/geo.mmdb' })();
    expect([config.port, config.geoFile]).toEqual([8080, '/var/geo.mmdb']);
  });
});

test('credentials for AWS are looked for where its tools look in the environment', () => {
  for (const name of [
    'AWS_ACCESS_KEY_ID',
    'AWS_PROFILE',
    'AWS_WEB_IDENTITY_TOKEN_FILE',
    'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
    'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  ]) {
    expect(hasAwsCredentials({ [name]: 'x' })).toBe(true);
  }
  expect(hasAwsCredentials({ AWS_REGION: 'eu-west-1' })).toBe(false);
});

test.each([
  [['all'], { redirects: true, api: true, background: true }],
  [['redirect'], { redirects: true, api: false, background: false }],
  [['api', 'worker'], { redirects: false, api: true, background: true }],
] as const)('the roles %j come with their duties', (roles, duties) => {
  expect(dutiesOf(roles)).toEqual(duties);
});
