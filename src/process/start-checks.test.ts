import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding } from '../base/finding.ts';
import { awsKeysOfProcess, loadConfig, settingRequirements } from '../config/config.ts';
import { main } from '../main.ts';
import { startRefusals } from './start-checks.ts';

const kafka = 'kafka://127.0.0.1:1/clicks';
const redis = 'redis://127.0.0.1:1';
const queued = { TERSE_WRITES: 'queued', TERSE_STREAM: kafka, TERSE_CACHE: redis };
const fastly = { TERSE_EDGE_PURGE: 'fastly://service' };

/** Settings that a server refuses, and the expected message. Each refusal needs a row here. */
const refused: readonly (readonly [Readonly<Record<string, string>>, says: string])[] = [
  [{ TERSE_TLS_CERTIFICATE: '/nowhere.pem' }, 'needs TERSE_TLS_KEY too'],
  [{ TERSE_PROXY_PROTOCOL: 'on' }, 'needs TERSE_TRUSTED_PROXIES'],
  [{ PORT: '8081', TERSE_METRICS_PORT: '8081' }, 'PORT is the same port'],
  [{ HOST: '0.0.0.0', PORT: '8081', TERSE_METRICS_PORT: '8081' }, 'PORT is the same port'],
  [
    {
      TERSE_PROXY_PROTOCOL: 'on',
      TERSE_TRUSTED_PROXIES: '10.0.0.0/8',
      TERSE_TLS_CERTIFICATE: '/nowhere.pem',
      TERSE_TLS_KEY: '/nowhere.pem',
    },
    'not allowed with TERSE_TLS_CERTIFICATE',
  ],
  [{ TERSE_STATS: 'clickhouse://127.0.0.1:1/terse' }, 'needs TERSE_STREAM=kafka://'],
  [{ TERSE_WRITES: 'queued', TERSE_CACHE: redis }, 'for its queue'],
  [{ TERSE_WRITES: 'queued', TERSE_STREAM: kafka }, 'for its queue'],
  [{ ...queued, TERSE_CODE_STRATEGY: 'random' }, 'only codes of the range strategy'],
  [{ ...queued, TERSE_EXPIRY_GRACE_DAYS: '1' }, 'may wait in the queue'],
  [{ ...queued, TERSE_REGION: '1/2' }, 'found through the Redis of one region only'],
  [{ TERSE_REGION: '1/2' }, 'regions share links'],
  [
    { TERSE_REGION: '1/2', TERSE_LINKS: 'postgres://127.0.0.1:1/terse', TERSE_CODE_STRATEGY: 'random' },
    'two of them could give the same code',
  ],
  ...(awsKeysOfProcess() === undefined
    ? ([
        [{ TERSE_ARCHIVE: 's3://bucket' }, 'needs AWS_ACCESS_KEY_ID'],
        [{ TERSE_EDGE_PURGE: 'cloudfront://E1' }, 'needs AWS_ACCESS_KEY_ID'],
      ] as const)
    : []),
  [
    { TERSE_ARCHIVE: 's3://bucket', TERSE_STREAM: `${kafka}?retentionHours=1` },
    'needs clicks to stay in Kafka',
  ],
  [fastly, 'needs TERSE_EDGE_PURGE_TOKEN'],
  [
    {
      TERSE_EDGE_PURGE: 'fastly://service,http://127.0.0.1:1/{code}',
      TERSE_EDGE_PURGE_TOKEN: 'x'.repeat(20),
    },
    "Fastly's token must not go",
  ],
  [{ TERSE_DATA: 'half-restored' }, 'a backup is being restored'],
  [{ TERSE_RESERVED_FILE: 'no-such-file' }, 'TERSE_RESERVED_FILE'],
  [{ TERSE_OFFENSIVE_FILE: 'no-such-file' }, 'TERSE_OFFENSIVE_FILE'],
  // Checks across settings, which already stop the settings from being read.
  [{ TERSE_LINKS: 'memory', TERSE_WORKERS: '2' }, 'several workers'],
];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-start-'));
  mkdirSync(join(folder, 'half-restored', 'restore.filling'), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Paths are those in the folder. */
function environment(env: Readonly<Record<string, string>>): Record<string, string> {
  const isPath = (name: string): boolean => /^TERSE_(?:DATA|.*_FILE)$/.test(name);
  const entries = Object.entries({ TERSE_DATA: 'data', ...env });
  return {
    PORT: '0',
    ...Object.fromEntries(entries.map(([name, value]) => [name, isPath(name) ? join(folder, value) : value])),
  };
}

const load = (env: Readonly<Record<string, string>>) =>
  loadConfig({ argv: [], env: environment(env), readFile: () => '{}' });

async function run(command: readonly string[], env: Readonly<Record<string, string>>) {
  const said = { stdout: '', stderr: '' };
  const output = (name: 'stdout' | 'stderr') => ({
    write(chunk: string | Uint8Array) {
      said[name] += String(chunk);
    },
    isTty: false,
    columns: undefined,
  });
  const exitCode = await main(command, {
    fetch,
    stdout: output('stdout'),
    stderr: output('stderr'),
    readStdin: () => new Blob([]).stream(),
    writeFile: async () => undefined,
    loadConfig: (argv, audiences) =>
      loadConfig({ argv, audiences, env: environment(env), readFile: () => '{}' }),
  });
  return { exitCode, ...said };
}

const root = join(import.meta.dir, '..');
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
  name => name.endsWith('.ts') && !name.endsWith('.test.ts'),
);

describe('incompatible settings', () => {
  test.each(refused)('%o are refused by serve and by doctor in the same words', async (env, says) => {
    const serve = await run(['serve'], env);
    expect(serve.exitCode).toBe(2);
    expect(serve.stderr).toContain(says);
    const words = serve.stderr.replace(/^terse: /, '').trim();
    const doctor = await run(['doctor', '--json'], env);
    if (doctor.stdout === '') {
      expect(doctor).toMatchObject({ exitCode: 2, stderr: serve.stderr });
      return;
    }
    expect(doctor.exitCode).toBe(1);
    const { findings } = JSON.parse(doctor.stdout) as { findings: Finding[] };
    const found = findings.find(({ subject, verdict }) => subject === 'settings' && verdict === 'fail');
    expect(found?.detail).toBe(words);
    expect(found?.fix).toMatch(/TERSE_|AWS_|terse restore/);
  });

  test('are refused only for reasons that have a row', () => {
    const yielded = sources
      .filter(name => name.endsWith('/requirements.ts'))
      .flatMap(name => readFileSync(join(root, name), 'utf8').match(/yield new ConfigError\(/g) ?? []);
    const fixes = refused.flatMap(([env, says]) => {
      try {
        return [...startRefusals(load(env))]
          .filter(({ message }) => message.includes(says))
          .map(({ fix }) => fix);
      } catch {
        return [];
      }
    });
    const withoutKeys = awsKeysOfProcess() === undefined ? 0 : 2;
    // A half-restored folder and two word files are not requirements of settings.
    expect(new Set(fixes).size).toBe(yielded.length + 3 - withoutKeys);
  });

  test('are all reported by doctor, not only the first', async () => {
    const { stdout } = await run(['doctor', '--json'], {
      TERSE_WRITES: 'queued',
      TERSE_CODE_STRATEGY: 'random',
      TERSE_EXPIRY_GRACE_DAYS: '1',
      TERSE_PROXY_PROTOCOL: 'on',
      TERSE_TLS_CERTIFICATE: '/nowhere.pem',
      TERSE_RESERVED_FILE: 'no-such-file',
    });
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    const details = findings.filter(({ subject }) => subject === 'settings').map(({ detail }) => detail);
    expect(details).toEqual([
      expect.stringContaining('needs TERSE_TLS_KEY too'),
      expect.stringContaining('needs TERSE_TRUSTED_PROXIES'),
      expect.stringContaining('not allowed with TERSE_TLS_CERTIFICATE'),
      expect.stringContaining('for its queue'),
      expect.stringContaining('only codes of the range strategy'),
      expect.stringContaining('may wait in the queue'),
      expect.stringContaining('TERSE_RESERVED_FILE'),
    ]);
  });

  test('are a word file whose line cannot be read, too', async () => {
    writeFileSync(join(folder, 'words'), 'two words\n');
    expect((await run(['doctor'], { TERSE_RESERVED_FILE: 'words' })).stdout).toMatch(
      /^fail {2}settings: .*line 1.*\n {6}→ correct the file/m,
    );
  });
});

describe('what stops a start', () => {
  test('is every requirement that there is', async () => {
    const modules = await Promise.all(
      sources.filter(name => name.endsWith('/requirements.ts')).map(name => import(join(root, name))),
    );
    const requirements = modules.flatMap(module =>
      Object.values(module).filter(value => typeof value === 'function'),
    );
    expect(new Set<unknown>(settingRequirements)).toEqual(new Set(requirements));
  });

  /** A refusal that is added elsewhere must be found by the doctor, too. */
  test('is reported only in places that the doctor checks', () => {
    const throwing = sources.filter(name =>
      readFileSync(join(root, name), 'utf8').includes('new ConfigError('),
    );
    expect(throwing.filter(name => !name.endsWith('/requirements.ts')).sort()).toEqual([
      'config/config.ts',
      'config/sources.ts',
      // tools/doctor/machine.ts opens it in the same way.
      'http/metrics-port.ts',
      // tools/doctor/machine.ts reads the files in the same way.
      'process/certificate.ts',
      'process/start-checks.ts',
      'stores/await-store.ts',
    ]);
  });
});
