/** Where the first admin key is shown: on a terminal, or in a private file. */
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
import { createLog } from '../ops/log.ts';
import { announce } from './welcome.ts';

const secret = 'terse_first-admin-key';

let folder: string;
let printed: string;
let logged: string;
let notes: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-welcome-'));
  [printed, logged, notes] = ['', '', 0];
});

afterEach(() => rmSync(folder, { recursive: true }));

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
  const stdout = {
    isTTY,
    write(text: string, done: (error?: Error) => void) {
      if (!isClosed) printed += text;
      done(isClosed ? new Error('EPIPE') : undefined);
    },
  };
  await announce('ready\n', isFirst ? key : undefined, { dataFolder, stdout, log });
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
