/** What Terse needs from the machine itself: descriptors, a clock, and a writable folder with free space. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { Findings, medianMs, messageOf } from '../../base/finding.ts';
import type { Random } from '../../base/random.ts';
import type { Config } from '../../config/config.ts';
import { adminKeyFile } from '../../process/data-files.ts';
import { connectionLimits, readIfPresent } from '../../process/machine.ts';

/** No Terse is older, so a clock that says so was never set. */
const earliestMs = Date.UTC(2026, 0, 1);
const roomFailBytes = 200 * 1024 * 1024;
const roomWarnBytes = 2 * 1024 * 1024 * 1024;
const slowSyncMs = 50;

export function examineMachine(
  { connections, workers }: Pick<Config, 'connections' | 'workers'>,
  clock: Clock,
  limits: string | undefined = readIfPresent('/proc/self/limits'),
): Findings['list'] {
  const findings = new Findings('machine');
  const { connectionsMax: allowed } = connectionLimits(connections, limits);
  if (allowed >= connections) findings.ok('open files', `enough for ${connections} connections`);
  else {
    const fix = `raise the limit to ${connections + 1_000}: ulimit -n, or LimitNOFILE= in the unit`;
    findings.warn('open files', `enough for ${allowed} of ${connections} connections`, fix);
  }
  if (clock.now() >= earliestMs) findings.ok('clock', new Date(clock.now()).toISOString());
  else {
    const fix = 'set the clock: links would expire at the wrong time';
    findings.fail('clock', `it is ${new Date(clock.now()).toISOString()} here`, fix);
  }
  findings.ok('workers', String(workers));
  return findings.list;
}

export interface FolderName {
  readonly subject: string;
  /** The setting that names it. */
  readonly variable: string;
}

export async function examineFolder(
  folder: string,
  clock: Clock,
  random: Random,
  { subject, variable }: FolderName = { subject: 'data folder', variable: 'TERSE_DATA' },
): Promise<Findings['list']> {
  const findings = new Findings(subject);
  const path = resolve(folder);
  if (!existsSync(path)) {
    const parent = nearestFolder(path);
    try {
      accessSync(parent, constants.W_OK);
      if (!statSync(parent).isDirectory()) throw new Error(`${parent} is not a folder`);
      findings.ok('folder', `${path} is made at the first start`);
    } catch {
      findings.fail(
        'folder',
        `${path} does not exist and cannot be made`,
        `let this user write to ${parent}`,
      );
    }
    examineRoom(findings, parent);
    return findings.list;
  }
  if (!statSync(path).isDirectory()) {
    findings.fail('folder', `${path} is not a folder`, `name another one as ${variable}`);
    return findings.list;
  }
  const others = statSync(path).mode & 0o077;
  if (others === 0) findings.ok('folder', path);
  else findings.warn('folder', `${path} can be read by other users`, `chmod 700 ${path}`);
  if (existsSync(join(path, adminKeyFile)))
    findings.warn(
      'first key',
      `${join(path, adminKeyFile)} has the first admin key in it`,
      'save the key elsewhere and delete the file',
    );
  await examineWriting(findings, path, clock, random);
  examineRoom(findings, path);
  return findings.list;
}

/** A temporary file, synced to disk as commits are, and deleted afterwards. */
async function examineWriting(
  findings: Findings,
  folder: string,
  clock: Clock,
  random: Random,
): Promise<void> {
  const path = join(folder, `doctor-${random.bytes(6).toHex()}`);
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      const syncMs = await medianMs(clock, async () => {
        await file.write('written\n');
        await file.datasync();
      });
      const shown = `${syncMs.toFixed(1)} ms until something is on the disk`;
      const fix = 'use a faster or less busy disk: every create waits for it';
      findings.judge('writing', syncMs <= slowSyncMs, shown, fix);
    } finally {
      await file.close();
    }
  } catch (error) {
    findings.fail('writing', messageOf(error), `let the user that runs Terse write to ${folder}`);
  } finally {
    await rm(path, { force: true }).catch(() => undefined);
  }
}

function examineRoom(findings: Findings, folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  const room = bavail * bsize;
  const shown = `${(room / 1024 ** 3).toFixed(1)} GB free`;
  const fix = 'make room, or move the folder to a larger disk';
  findings.judge('room', room < roomFailBytes ? 'fail' : room >= roomWarnBytes, shown, fix);
}

function nearestFolder(path: string): string {
  let folder = dirname(path);
  while (!existsSync(folder)) folder = dirname(folder);
  return folder;
}
