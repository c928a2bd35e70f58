import { expect, test } from 'bun:test';
import { loadConfig } from './config.ts';
import { describeConfig, settingHelp } from './report.ts';
import { settingNames, settings } from './settings.ts';

const env = {
  TERSE_ADMIN_KEY: 'hunter2-hunter2-hunter2',
  TERSE_KEY: 'hunter2-client',
  TERSE_LINKS: 'postgres://user:hunter2@db/terse?password=hunter2&sslmode=require',
  TERSE_CACHE: 'redis://:hunter2@cache:6379',
  TERSE_DOMAINS: 'a.example,b.example',
};
const config = loadConfig({ argv: ['--port', '9000', '--anonymous=off'], env, readFile: () => '{}' });
const byName = Object.fromEntries(describeConfig(config).map(row => [row.name, row]));

test('the effective settings show value and source of every setting', () => {
  expect(Object.keys(byName)).toEqual([...settingNames]);
  expect(byName.port).toMatchObject({ shown: '9000', value: 9000, source: 'flag' });
  expect(byName.anonymous).toMatchObject({ shown: 'off', value: false, source: 'flag' });
  expect(byName.domains).toMatchObject({ shown: 'a.example,b.example', source: 'environment' });
  expect(byName.trustedProxies).toMatchObject({ shown: 'none', value: [], source: 'default' });
  expect(byName.reservedFile).toMatchObject({ shown: 'none', value: null, source: 'default' });
});

test('the effective settings hide keys and the credentials inside URLs', () => {
  expect(JSON.stringify(describeConfig(config))).not.toContain('hunter2');
  expect(byName.adminKey).toMatchObject({ shown: '(hidden)', value: '(hidden)', source: 'environment' });
  expect(byName.links?.shown).toBe('postgres://***@db/terse?password=***&sslmode=require');
  expect(byName.cache?.shown).toBe('redis://***@cache:6379');
});

test('an unset key is shown in words', () => {
  const unset = describeConfig(loadConfig({ argv: [], env: {}, readFile: () => '{}' }));
  expect(unset.find(row => row.name === 'adminKey')).toMatchObject({
    shown: 'made by the first process with the API; printed to a terminal, else in admin-key in TERSE_DATA',
    value: null,
  });
});

test('names are unique and follow one pattern', () => {
  const variables = Object.values(settings).map(setting => setting.env);
  expect(new Set(variables).size).toBe(variables.length);
  for (const { env, flag, values, doc } of settingHelp()) {
    expect(env).toMatch(/^(?:PORT|HOST|TERSE_[A-Z0-9_]+)$/);
    expect(flag.slice(2).replaceAll('-', '_').toUpperCase()).toBe(env.replace('TERSE_', ''));
    expect(`${values}${doc}`).not.toContain('`');
    expect(doc).toEndWith('.');
  }
});
