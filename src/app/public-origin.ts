/** Where this installation is found: what the operator says, or this machine at the port that was taken. */
import type { Config } from './config.ts';

export function publicOrigin(
  { sources, baseUrl, tlsCertificate }: Pick<Config, 'sources' | 'baseUrl' | 'tlsCertificate'>,
  port: number,
): string {
  return sources.baseUrl === 'default' ? localOrigin(tlsCertificate !== undefined, port) : baseUrl;
}

export const localOrigin = (isEncrypted: boolean, port: unknown): string =>
  `${isEncrypted ? 'https' : 'http'}://localhost:${port}`;
