/** Who gets to see the first admin key: a person at a terminal, or whoever may read a file that is Terse's alone. */
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

test('at a terminal the key is printed, and nothing is written', async () => {
  await announced({ isTTY: true });
  expect(printed).toStartWith('ready\n');
  expect(printed).toContain(secret);
  expect(notes).toBe(1);
  expect(readdirSync(folder)).toEqual([]);
});

test('elsewhere the key is in a file for its owner alone, and only its path is printed', async () => {
  await announced();
  expect(readFileSync(path(), 'utf8')).toBe(`${secret}\n`);
  expect(statSync(path()).mode & 0o777).toBe(0o600);
  expect(printed).toContain(path());
  expect(printed + logged).not.toContain(secret);
  expect(notes).toBe(1);
  expect(readdirSync(folder)).toEqual(['admin-key']);
});

test('the file replaces one of an earlier key, and what somebody has put in its place', async () => {
  const elsewhere = join(folder, 'elsewhere');
  writeFileSync(elsewhere, 'theirs');
  symlinkSync(elsewhere, path());
  symlinkSync(elsewhere, `${path()}.new`);
  await announced();
  expect(readFileSync(elsewhere, 'utf8')).toBe('theirs');
  expect(readFileSync(path(), 'utf8')).toBe(`${secret}\n`);
});

test('the folder is made when nothing else has been', async () => {
  const dataFolder = join(folder, 'data');
  await announced({ dataFolder });
  expect(statSync(dataFolder).mode & 0o777).toBe(0o700);
  expect(existsSync(join(dataFolder, 'admin-key'))).toBe(true);
});

test('a key that cannot be written is told of without showing it, and counts as lost', async () => {
  const dataFolder = join(folder, 'file');
  writeFileSync(dataFolder, '');
  await announced({ dataFolder });
  expect(printed).toBe('ready\n');
  expect(logged).toContain('set TERSE_ADMIN_KEY');
  expect(logged).not.toContain(secret);
  expect(notes).toBe(0);
});

test('a key that a terminal did not take counts as lost, one in a file does not', async () => {
  await announced({ isTTY: true, isClosed: true });
  expect(notes).toBe(0);
  await announced({ isClosed: true });
  expect(notes).toBe(1);
});

test('without a new key nothing is said about one', async () => {
  await announced({ isFirst: false });
  expect(printed).toBe('ready\n');
  expect(readdirSync(folder)).toEqual([]);
});
