/**
 * Self-signed certificates for loopback, which a client can verify like real ones if it trusts them. Encoded as DER by
 * hand, because no tool that every machine has creates them.
 */
import { generateKeyPairSync, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface SelfSigned {
  /** Both as PEM text. */
  readonly certificate: string;
  readonly key: string;
}

export interface SelfSignedOptions {
  readonly name?: string;
  readonly validUntilMs?: number;
}

const yearMs = 365 * 24 * 60 * 60 * 1_000;

export function selfSigned({
  name = 'localhost',
  validUntilMs = Date.now() + yearMs,
}: SelfSignedOptions = {}): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = sequence(set(sequence(oid('550403'), tagged(0x0c, Buffer.from(name)))));
  const validity = sequence(time(Date.now() - yearMs), time(validUntilMs));
  const names = sequence(
    tagged(0x82, Buffer.from(name)),
    tagged(0x82, Buffer.from('localhost')),
    tagged(0x87, Buffer.from([127, 0, 0, 1])),
  );
  const authority = sequence(tagged(0x01, Buffer.from([0xff])));
  const extensions = sequence(
    sequence(oid('551d11'), tagged(0x04, names)),
    sequence(oid('551d13'), tagged(0x04, authority)),
  );
  const serial = Buffer.concat([Buffer.from([1]), crypto.getRandomValues(Buffer.alloc(8))]);
  const content = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, serial),
    algorithm,
    subject,
    validity,
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, extensions),
  );
  const signature = tagged(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', content, privateKey)]));
  return {
    certificate: pem('CERTIFICATE', sequence(content, algorithm, signature)),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

/** Writes a pair and returns the settings to serve it; writing another pair renews it. */
export function writePair(folder: string, { certificate, key }: SelfSigned) {
  const [certificatePath, keyPath] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
  writeFileSync(certificatePath, certificate);
  writeFileSync(keyPath, key, { mode: 0o600 });
  return { TERSE_TLS_CERTIFICATE: certificatePath, TERSE_TLS_KEY: keyPath };
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Buffer[]): Buffer => tagged(0x30, Buffer.concat(parts));
const set = (...parts: Buffer[]): Buffer => tagged(0x31, Buffer.concat(parts));
const oid = (hex: string): Buffer => tagged(0x06, Buffer.from(hex, 'hex'));
const time = (ms: number): Buffer =>
  tagged(0x17, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`));
/** ECDSA over SHA-256. */
const algorithm = sequence(oid('2a8648ce3d040302'));

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
