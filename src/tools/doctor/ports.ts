/** Whether a server could listen where the settings say: the port is opened for a moment, the way a server opens it. */
import type { Clock } from '../../base/clock.ts';
import { withSignal } from '../../base/deadline.ts';
import { type Finding, Findings, messageOf } from '../../base/finding.ts';
import type { Config } from '../../config/config.ts';
import { isReadByAll, readPair } from '../../process/certificate.ts';
import { openListeningSockets } from '../../process/listening-socket.ts';

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

/** The doctor's checks of a certificate: whether it matches its key, for how long, and who else can read the key. */
const dayMs = 24 * 60 * 60 * 1_000;
/** Automatic renewal happens weeks before the expiry; this late, it has failed. */
const soonDays = 14;

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
