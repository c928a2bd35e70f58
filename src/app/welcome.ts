/**
 * What an operator reads when the server is ready. The first admin key is shown to a person only: where the output is no
 * terminal, somebody may collect it and keep it for years, so the key goes to a file of its own, and only the path is
 * printed.
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
 * Prints the text, and how to come by the key that this start made. Without a note that somebody can see the key, the
 * next start makes another: one that nobody saw is not the end.
 */
export async function announce(
  text: string,
  key: NewAdminKey | undefined,
  { dataFolder, stdout, log }: AnnounceOptions,
): Promise<void> {
  const noteShown = async (): Promise<void> =>
    key
      ?.noteShown()
      .catch(error => log.error('that the key was shown was not noted', { failure: describeFailure(error) }));
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

/** Whole or not at all, and never through a link that somebody has put in its place. */
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
    log.error('the first admin key cannot be written: set TERSE_ADMIN_KEY instead', { path, failure });
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
    '  Your admin key, for you alone to read, is in',
    '',
    `    ${path}`,
    '',
    '  Save it elsewhere and delete the file.',
    `  Try: TERSE_KEY_FILE=${path} npx terse shorten https://example.com/`,
    '',
    '',
  ].join('\n');
