/**
 * Who this server is to clients that speak TLS: its certificate with those up to one that clients know, and the key.
 *
 * Invariant: what is in a `TlsIdentity` belongs together and can be served. A file that is half written, or one half
 * of a new pair beside the other half of the old one, never becomes one.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { TLSOptions } from 'bun';

export interface TlsIdentity {
  /** Both as PEM text. */
  readonly certificate: string;
  readonly key: string;
  /** When the certificate ends; milliseconds since the epoch. */
  readonly validUntilMs: number;
  /** The names that the certificate is for, in its own words. */
  readonly names: string;
}

/** Forward secrecy and authenticated encryption only. TLS 1.3 has no others, and nothing older than 1.2 is spoken. */
const ciphers = 'ECDHE+AESGCM:ECDHE+CHACHA20';

/** The protocols to choose from, each with its length before it: clients that insist on another one are told so. */
const protocols = Buffer.from('\x08http/1.1', 'latin1');

const block = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Throws one line that says what is wrong. */
export function identityOf(certificate: string, key: string): TlsIdentity {
  const [own, ...others] = certificate.match(block) ?? [];
  if (own === undefined) throw new Error('there is no certificate in PEM form');
  const parsed = orSay('the certificate is damaged', () => new X509Certificate(own));
  for (const other of others)
    orSay('a certificate of the chain is damaged', () => new X509Certificate(other));
  if (certificate.split('-----BEGIN').length !== others.length + 2)
    throw new Error('there is more, or less, than whole certificates');
  const privateKey = orSay('there is no private key in PEM form without a passphrase', () =>
    createPrivateKey(key),
  );
  if (!parsed.checkPrivateKey(privateKey)) throw new Error('the key does not belong to the certificate');
  const { validTo, subjectAltName, subject } = parsed;
  return { certificate, key, validUntilMs: Date.parse(validTo), names: subjectAltName ?? subject };
}

export function tlsOptionsOf({ certificate, key }: TlsIdentity): TLSOptions {
  return { cert: certificate, key, ciphers, ALPNProtocols: protocols };
}

/** What the library says of a damaged file may quote it, and the file may be a key. */
function orSay<Value>(fault: string, make: () => Value): Value {
  try {
    return make();
  } catch {
    throw new Error(fault);
  }
}
