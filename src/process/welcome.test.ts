/** What a start prints, and where the first admin key is shown: on a terminal, or in a private file. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { load } from '../config/fake-connection-context.ts';
import { createLog } from '../telemetry/log.ts';
import { announce, curlTo, welcome } from './welcome.ts';

const secret = 'terse_first-admin-key';

let folder: string;
let printed: string;
let logged: string;
let notes: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-welcome-'));
  [printed, logged, notes] = ['', '', 0];
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const key = {
  secret,
  async noteShown() {
    notes += 1;
  },
};

async function announced({
  isTTY = false,
  dataFolder = folder,
  isClosed = false,
  isFirst = true,
} = {}): Promise<void> {
  const log = createLog({ level: 'debug', clock: systemClock, write: text => (logged += text) });
  const curl = 'curl http://127.0.0.1:1/api/v1/links';
  const stdout = {
    isTTY,
    write(text: string, done: (error?: Error) => void) {
      if (!isClosed) printed += text;
      done(isClosed ? new Error('EPIPE') : undefined);
    },
  };
  await announce('ready\n', isFirst ? key : undefined, { dataFolder, stdout, log, curl });
  log.flush();
}

const path = (): string => join(folder, 'admin-key');

test('a terminal gets the key, and no file is written', async () => {
  await announced({ isTTY: true });
  expect(printed).toStartWith('ready\n');
  expect(printed).toContain(secret);
  expect(notes).toBe(1);
  expect(readdirSync(folder)).toEqual([]);
});

test('any other output gets the path of a file that only its owner can read', async () => {
  await announced();
  expect(readFileSync(path(), 'utf8')).toBe(`${secret}\n`);
  expect(statSync(path()).mode & 0o777).toBe(0o600);
  expect(printed).toContain(path());
  expect(printed + logged).not.toContain(secret);
  expect(notes).toBe(1);
  expect(readdirSync(folder)).toEqual(['admin-key']);
});

test('the file replaces an earlier one, and does not follow symbolic links', async () => {
  const elsewhere = join(folder, 'elsewhere');
  writeFileSync(elsewhere, 'theirs');
  symlinkSync(elsewhere, path());
  symlinkSync(elsewhere, `${path()}.new`);
  await announced();
  expect(readFileSync(elsewhere, 'utf8')).toBe('theirs');
  expect(readFileSync(path(), 'utf8')).toBe(`${secret}\n`);
});

test('the data folder is created if it is missing', async () => {
  const dataFolder = join(folder, 'data');
  await announced({ dataFolder });
  expect(statSync(dataFolder).mode & 0o777).toBe(0o700);
  expect(existsSync(join(dataFolder, 'admin-key'))).toBe(true);
});

test('a key that cannot be written is not shown anywhere and counts as lost', async () => {
  const dataFolder = join(folder, 'file');
  writeFileSync(dataFolder, '');
  await announced({ dataFolder });
  expect(printed).toBe('ready\n');
  expect(logged).toContain('set TERSE_ADMIN_KEY');
  expect(logged).not.toContain(secret);
  expect(notes).toBe(0);
});

test('a key counts as lost if the terminal is gone, but not if it is in a file', async () => {
  await announced({ isTTY: true, isClosed: true });
  expect(notes).toBe(0);
  await announced({ isClosed: true });
  expect(notes).toBe(1);
});

test('without a new key only the text is printed', async () => {
  await announced({ isFirst: false });
  expect(printed).toBe('ready\n');
  expect(readdirSync(folder)).toEqual([]);
});

test('the example is one line of curl, with the key itself or with its file', async () => {
  const more = `-H 'Content-Type: application/json' -d '{"longUrl": "https://example.com/"}'`;
  await announced({ isTTY: true });
  expect(printed).toContain(
    `    curl http://127.0.0.1:1/api/v1/links -H 'Authorization: Bearer ${secret}' ${more}\n`,
  );
  const dataFolder = join(folder, "it's");
  await announced({ dataFolder });
  const file = `'${folder}/it'\\''s/admin-key'`;
  expect(printed).toContain(
    `    curl http://127.0.0.1:1/api/v1/links -H "Authorization: Bearer $(cat ${file})" ${more}\n`,
  );
});

test('a process without the API does not print its addresses', () => {
  expect(welcome('https://sho.rt', { api: true })).toContain('https://sho.rt/dashboard');
  expect(welcome('https://sho.rt', { api: false })).toBe('\n  Terse is ready at https://sho.rt\n\n');
});

test.each([
  [{}, 'curl http://127.0.0.1:9/api/v1/links'],
  [{ HOST: '0.0.0.0', TERSE_BASE_URL: 'https://sho.rt' }, 'curl http://127.0.0.1:9/api/v1/links'],
  [{ HOST: '::' }, "curl 'http://[::1]:9/api/v1/links'"],
  [{ HOST: '10.1.2.3' }, 'curl http://10.1.2.3:9/api/v1/links'],
  [
    { HOST: 'localhost', TERSE_TLS_CERTIFICATE: '/c', TERSE_TLS_KEY: '/k' },
    'curl -k https://localhost:9/api/v1/links',
  ],
  [
    { TERSE_PROXY_PROTOCOL: 'on', TERSE_TRUSTED_PROXIES: '127.0.0.0/8' },
    'curl --haproxy-protocol http://127.0.0.1:9/api/v1/links',
  ],
])('with %j the API is reached by %s', (env, line) => {
  expect(curlTo(load({ env }), 9)).toBe(line);
});
