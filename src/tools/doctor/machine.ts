/** Checks of the machine itself: descriptors, the clock, a writable folder with free space, ports, the certificate. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { withSignal } from '../../base/deadline.ts';
import { type Finding, Findings, medianMs, messageOf } from '../../base/finding.ts';
import type { Random } from '../../base/random.ts';
import type { Config } from '../../config/config.ts';
import { isReadByAll, readPair } from '../../process/certificate.ts';
import { adminKeyFile } from '../../process/data-files.ts';
import { openListeningSockets } from '../../process/listening-socket.ts';
import { connectionLimits, readIfPresent } from '../../process/machine.ts';

/** No version of Terse is older, so an earlier time means that the clock was never set. */
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
  /** The setting that names the folder. */
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

/** Whether a server could listen where the settings say: the port is opened for a moment, the way a server opens it. */
type PortConfig = Pick<
  Config,
  'host' | 'port' | 'metricsHost' | 'metricsPort' | 'tlsCertificate' | 'proxyProtocol'
>;

const answerMaxMs = 2_000;

export async function examinePorts(config: PortConfig, clock: Clock): Promise<Finding[]> {
  const findings = new Findings('port');
  const { host, port, metricsHost, metricsPort, tlsCertificate, proxyProtocol } = config;
  const scheme = tlsCertificate === undefined ? 'http' : 'https';
  await examinePort(findings, {
    check: 'listening',
    host,
    port,
    variable: 'PORT',
    // Terse does not answer us when it expects a proxy.
    isOurs: async () =>
      proxyProtocol ? undefined : isTerse(`${scheme}://${reachable(host)}:${port}`, clock),
  });
  if (metricsPort !== undefined)
    await examinePort(findings, {
      check: 'metrics',
      host: metricsHost,
      port: metricsPort,
      variable: 'TERSE_METRICS_PORT',
      isOurs: () => showsMetrics(`http://${reachable(metricsHost)}:${metricsPort}`, clock),
    });
  return findings.list;
}

interface Port {
  readonly check: string;
  readonly host: string;
  readonly port: number;
  readonly variable: string;
  /** Undefined where that cannot be determined. */
  readonly isOurs: () => Promise<boolean | undefined>;
}

async function examinePort(findings: Findings, { check, host, port, variable, isOurs }: Port): Promise<void> {
  const shown = `${host}:${port}`;
  try {
    openListeningSockets(host, port, 1).close();
    findings.ok(check, port === 0 ? 'any free port' : `${shown} is free`);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== 'EADDRINUSE') {
      const advice =
        code === 'EACCES'
          ? `use a port of 1024 or more as ${variable}, or give the program CAP_NET_BIND_SERVICE`
          : `correct ${variable} and the host beside it`;
      findings.fail(check, `${shown}: ${messageOf(error)}`, advice);
      return;
    }
    const isRunning = await isOurs();
    const fix = `stop what uses it, or choose another port with ${variable}`;
    if (isRunning === true) findings.ok(check, `Terse is already running at ${shown}`);
    else if (isRunning === undefined) findings.warn(check, `${shown} is in use, perhaps by Terse`, fix);
    else findings.fail(check, `${shown} is in use by another program`, fix);
  }
}

/** An address to connect to, for a wildcard host. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

async function isTerse(url: string, clock: Clock): Promise<boolean> {
  const text = await textAt(`${url}/health/ready`, clock);
  try {
    const answer = JSON.parse(text ?? '') as { status?: string; parts?: object };
    return typeof answer.status === 'string' && typeof answer.parts === 'object';
  } catch {
    return false;
  }
}

const showsMetrics = async (url: string, clock: Clock): Promise<boolean> =>
  (await textAt(`${url}/metrics`, clock))?.includes('\nterse_') ?? false;

async function textAt(url: string, clock: Clock): Promise<string | undefined> {
  try {
    return await withSignal(clock, answerMaxMs, async signal => {
      // Its certificate may be for another name; nothing secret is sent.
      const answer = await fetch(url, { signal, tls: { rejectUnauthorized: false } });
      return answer.text();
    });
  } catch {
    return undefined;
  }
}

const dayMs = 24 * 60 * 60 * 1_000;
/** Automatic renewal happens weeks before the expiry; this late, it has failed. */
const soonDays = 14;

/** Whether the certificate matches its key, for how long, and who else can read the key. */
export async function examineCertificate(
  { tlsCertificate, tlsKey }: Pick<Config, 'tlsCertificate' | 'tlsKey'>,
  clock: Clock,
): Promise<Finding[]> {
  const findings = new Findings('certificate');
  if (tlsCertificate === undefined || tlsKey === undefined) return findings.list;
  try {
    const { names, validUntilMs } = await readPair({ certificatePath: tlsCertificate, keyPath: tlsKey });
    findings.ok('names', names);
    const daysLeft = Math.floor((validUntilMs - clock.now()) / dayMs);
    const shown = `it ends at ${new Date(validUntilMs).toISOString()}, in ${daysLeft} days`;
    const fix = 'renew it: the new files are taken within a second';
    findings.judge('end', daysLeft < 0 ? 'fail' : daysLeft >= soonDays, shown, fix);
    if (isReadByAll(tlsKey)) findings.warn('key', `every user can read ${tlsKey}`, `chmod o-rwx ${tlsKey}`);
    else findings.ok('key', tlsKey);
  } catch (error) {
    findings.fail(
      'files',
      messageOf(error),
      'name a certificate and the key that belongs to it, in PEM form',
    );
  }
  return findings.list;
}
