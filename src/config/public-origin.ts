/** The public address of this installation: the operator's setting, or this machine and the port that was opened. */
import { isIPv6 } from 'node:net';
import type { Config } from './config.ts';

type Listening = Pick<Config, 'host' | 'tlsCertificate'>;

export function publicOrigin(config: Listening & Pick<Config, 'sources' | 'baseUrl'>, port: number): string {
  return config.sources.baseUrl === 'default' ? defaultOrigin(config, port) : config.baseUrl;
}

/** By name where `localhost` leads to it, because people read and type it. */
export function defaultOrigin({ host, tlsCertificate }: Listening, port: unknown): string {
  const isLocal = ['127.0.0.1', 'localhost', ...Object.keys(loopbackOf)].includes(host);
  return originOf(isLocal ? 'localhost' : host, tlsCertificate, port);
}

/** By the exact address, which reaches this process even when another has the port at another loopback address. */
export function listeningOrigin({ host, tlsCertificate }: Listening, port: number): string {
  return originOf(loopbackOf[host] ?? host, tlsCertificate, port);
}

/** The address of this machine itself among all that it listens on. */
const loopbackOf: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

function originOf(host: string, tlsCertificate: string | undefined, port: unknown): string {
  const scheme = tlsCertificate === undefined ? 'http' : 'https';
  return `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
