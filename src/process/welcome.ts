/**
 * What an operator reads when the server is ready. The first admin key is printed to a terminal only: any other output may
 * end up in a log collector that keeps it for years, so there the key goes to a private file and its path is printed.
 */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { NewAdminKey } from '../accounts/api-key.ts';
import type { Config, Duties } from '../config/config.ts';
import { listeningOrigin } from '../config/public-origin.ts';
import { describeFailure, type Log } from '../telemetry/log.ts';
import { adminKeyFile } from './data-files.ts';
import { proxyProtocolPeersOf } from './listening-socket.ts';

export interface Stdout {
  readonly isTTY?: boolean;
  write(text: string, done: (error?: Error | null) => void): unknown;
}

export interface AnnounceOptions {
  readonly dataFolder: string;
  readonly stdout: Stdout;
  readonly log: Log;
  /** How a shell on this machine calls `POST /api/v1/links`; printed with a key only. */
  readonly curl: string;
}

export function welcome(baseUrl: string, { api }: Pick<Duties, 'api'>): string {
  const lines = [
    '',
    `  Terse is ready at ${baseUrl}`,
    ...(api ? [`  Dashboard at      ${baseUrl}/dashboard`, `  API reference at  ${baseUrl}/docs`] : []),
    '',
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * The certificate is for the public name, so it is not checked: the line only leads to this machine, as one without TLS
 * does.
 */
export function curlTo(config: Config, port: number): string {
  const origin = listeningOrigin(config, port);
  const isProxy = proxyProtocolPeersOf(config)?.(new URL(origin).hostname.replace(/^\[|\]$/g, '')) ?? false;
  return [
    'curl',
    ...(config.tlsCertificate === undefined ? [] : ['-k']),
    ...(isProxy ? ['--haproxy-protocol'] : []),
    shellWord(`${origin}/api/v1/links`),
  ].join(' ');
}

/**
 * Prints the text and, if this start made the first key, the key or where it is. The next start replaces a key that was
 * neither printed nor written.
 */
export async function announce(
  text: string,
  key: NewAdminKey | undefined,
  { dataFolder, stdout, log, curl }: AnnounceOptions,
): Promise<void> {
  const noteShown = async (): Promise<void> =>
    key
      ?.noteShown()
      .catch(error =>
        log.error('the first admin key could not be recorded as shown', { failure: describeFailure(error) }),
      );
  if (key === undefined || stdout.isTTY === true) {
    if (await print(stdout, key === undefined ? text : text + shownNotice(key.secret, curl)))
      await noteShown();
    return;
  }
  const path = resolve(dataFolder, adminKeyFile);
  const isKept = keep(path, key.secret, log);
  if (isKept) await noteShown();
  await print(stdout, isKept ? text + keptNotice(path, curl) : text);
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

const shownNotice = (secret: string, curl: string): string =>
  [
    '  Your admin key, shown this once:',
    '',
    `    ${secret}`,
    '',
    ...exampleLines(curl, `'Authorization: Bearer ${secret}'`),
    '',
  ].join('\n');

const keptNotice = (path: string, curl: string): string =>
  [
    '  Your admin key is in a file that only this user can read:',
    '',
    `    ${path}`,
    '',
    ...exampleLines(curl, `"Authorization: Bearer $(cat ${shellWord(path)})"`),
    '  Save the key elsewhere and delete the file.',
    '',
    '',
  ].join('\n');

/** One line, so that it can be pasted into any shell. */
function exampleLines(curl: string, authorization: string): string[] {
  const body = `'{"longUrl": "https://example.com/"}'`;
  return [
    '  Make a short link:',
    '',
    `    ${curl} -H ${authorization} -H 'Content-Type: application/json' -d ${body}`,
    '',
  ];
}

/** Single quotes keep everything as it is in a shell, except the single quote. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
