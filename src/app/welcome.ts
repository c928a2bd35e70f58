/**
 * What an operator reads when the server is ready. The first admin key is printed to a terminal only: any other output may
 * end up in a log collector that keeps it for years, so there the key goes to a private file and its path is printed.
 */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { NewAdminKey } from '../accounts/api-key.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import { adminKeyFile } from './data-files.ts';

export interface Stdout {
  readonly isTTY?: boolean;
  write(text: string, done: (error?: Error | null) => void): unknown;
}

export interface AnnounceOptions {
  readonly dataFolder: string;
  readonly stdout: Stdout;
  readonly log: Log;
}

export function welcome(baseUrl: string): string {
  const lines = [
    '',
    `  Terse is ready at ${baseUrl}`,
    `  Dashboard at      ${baseUrl}/dashboard`,
    `  API reference at  ${baseUrl}/docs`,
    '',
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * Prints the text and, if this start made the first key, the key or where it is. The next start replaces a key that was
 * neither printed nor written.
 */
export async function announce(
  text: string,
  key: NewAdminKey | undefined,
  { dataFolder, stdout, log }: AnnounceOptions,
): Promise<void> {
  const noteShown = async (): Promise<void> =>
    key
      ?.noteShown()
      .catch(error =>
        log.error('the first admin key could not be marked as shown', { failure: describeFailure(error) }),
      );
  if (key === undefined || stdout.isTTY === true) {
    if (await print(stdout, key === undefined ? text : text + shownNotice(key.secret))) await noteShown();
    return;
  }
  const path = resolve(dataFolder, adminKeyFile);
  const isKept = keep(path, key.secret, log);
  if (isKept) await noteShown();
  await print(stdout, isKept ? text + keptNotice(path) : text);
}

/** Whether the text left this process. */
function print(stdout: Stdout, text: string): Promise<boolean> {
  return new Promise(resolve => {
    stdout.write(text, error => resolve(error === undefined || error === null));
  });
}

/** Atomic, and never follows a symbolic link at either path. */
function keep(path: string, secret: string, log: Log): boolean {
  const unfinished = `${path}.new`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    rmSync(unfinished, { force: true });
    writeFileSync(unfinished, `${secret}\n`, { flag: 'wx', mode: 0o600, flush: true });
    renameSync(unfinished, path);
    return true;
  } catch (error) {
    const failure = describeFailure(error);
    log.error('the first admin key cannot be written: set TERSE_ADMIN_KEY', { path, failure });
    return false;
  }
}

const shownNotice = (secret: string): string =>
  [
    '  Your admin key, shown this once:',
    '',
    `    ${secret}`,
    '',
    `  Try: TERSE_KEY=${secret} npx terse shorten https://example.com/`,
    '',
    '',
  ].join('\n');

const keptNotice = (path: string): string =>
  [
    '  Your admin key is in a file that only this user can read:',
    '',
    `    ${path}`,
    '',
    '  Save the key elsewhere and delete the file.',
    `  Try: TERSE_KEY_FILE=${path} npx terse shorten https://example.com/`,
    '',
    '',
  ].join('\n');
