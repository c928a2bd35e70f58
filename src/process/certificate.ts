/**
 * The certificate that Terse presents and its key, from two files that the operator renews every few weeks. They are
 * read again every second, which is cheap, sees replaced files as well as switched symlinks, and needs no signal. Only
 * a certificate and key that belong together are loaded; until then the previous pair stays active.
 */
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { identityOf, type TlsIdentity } from '../http/wire/listen-socket.ts';
import type { Log } from '../telemetry/log.ts';
import { oneValue } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';

export interface CertificateFiles {
  readonly certificatePath: string;
  readonly keyPath: string;
}

export interface Certificate {
  readonly identity: TlsIdentity;
  /** Reports every new pair until the returned function is called. */
  follow(onRenewed: (identity: TlsIdentity) => void): () => void;
  /** Checks the files immediately. */
  look(): Promise<void>;
  metrics(): Metric[];
}

const lookMs = 1_000;

/** Undefined where the settings name none. Stops the start when the named files cannot be used. */
export async function openCertificate(
  { tlsCertificate, tlsKey }: Pick<Config, 'tlsCertificate' | 'tlsKey'>,
  clock: Clock,
  log: Log,
): Promise<Certificate | undefined> {
  if (tlsCertificate === undefined || tlsKey === undefined) return undefined;
  const files: CertificateFiles = { certificatePath: tlsCertificate, keyPath: tlsKey };
  const identity = await readPair(files).catch(error => {
    throw new ConfigError(
      `tlsCertificate ${tlsCertificate} with tlsKey ${tlsKey} cannot be used: ${error.message}`,
    );
  });
  if (isReadByAll(tlsKey)) log.warn('every user of this machine can read the TLS key', { path: tlsKey });
  return followed(files, identity, clock, log);
}

/** Throws one line that says what is wrong. */
export async function readPair({ certificatePath, keyPath }: CertificateFiles): Promise<TlsIdentity> {
  const [certificate, key] = await Promise.all([
    readFile(certificatePath, 'utf8'),
    readFile(keyPath, 'utf8'),
  ]);
  return identityOf(certificate, key);
}

/** The owner's group may be meant to read it; every user hardly is. */
export const isReadByAll = (path: string): boolean => (statSync(path).mode & 0o004) !== 0;

function followed(files: CertificateFiles, first: TlsIdentity, clock: Clock, log: Log): Certificate {
  let identity = first;
  let fault: string | undefined;
  let listeners: ((identity: TlsIdentity) => void)[] = [];
  let looking: Promise<void> | undefined;

  const take = async (): Promise<void> => {
    try {
      const found = await readPair(files);
      fault = undefined;
      if (found.certificate === identity.certificate && found.key === identity.key) return;
      for (const tell of listeners) tell(found);
      identity = found;
      log.info('a new TLS certificate is in use', describe(found));
    } catch (error) {
      const { message } = error as Error;
      if (message !== fault)
        log.error('the TLS certificate in use is kept: the new one cannot be', { message });
      fault = message;
    }
  };
  const look = (): Promise<void> => {
    looking ??= take().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  log.info('a TLS certificate is in use', describe(first));
  return {
    get identity() {
      return identity;
    },
    look,
    follow(onRenewed) {
      listeners.push(onRenewed);
      const stop = clock.every(lookMs, () => void look());
      return () => {
        stop();
        listeners = listeners.filter(listener => listener !== onRenewed);
      };
    },
    metrics: () => [
      oneValue('terse_tls_certificate_end_timestamp_seconds', identity.validUntilMs / 1_000),
      oneValue('terse_tls_certificate_stale', Number(fault !== undefined)),
    ],
  };
}

const describe = ({ names, validUntilMs }: TlsIdentity) => ({
  names,
  validUntil: new Date(validUntilMs).toISOString(),
});
