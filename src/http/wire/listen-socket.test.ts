import { describe, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { selfSigned } from '../../../test/kit/self-signed.ts';
import { identityOf } from './listen-socket.ts';

const one = selfSigned({ name: 'one.test', validUntilMs: Date.UTC(2040, 0, 2) });
const other = selfSigned({ name: 'other.test' });
const locked = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
}).privateKey;

describe('a certificate and its key', () => {
  test('are taken together with a chain, and report their names and their expiry', () => {
    const certificate = `Bag Attributes\n${one.certificate}\n${other.certificate}`;
    expect(identityOf(certificate, one.key)).toEqual({
      certificate,
      key: one.key,
      validUntilMs: Date.UTC(2040, 0, 2),
      names: expect.stringContaining('DNS:one.test'),
    });
  });

  test.each([
    ['nothing', '', one.key, 'there is no certificate in PEM form'],
    ['a key for a certificate', one.key, one.key, 'there is no certificate in PEM form'],
    [
      'a certificate cut short',
      one.certificate.slice(0, 300),
      one.key,
      'there is no certificate in PEM form',
    ],
    [
      'a chain cut short',
      one.certificate + other.certificate.slice(0, 300),
      one.key,
      'there is more, or less, than whole certificates',
    ],
    [
      'a damaged certificate',
      one.certificate.replace(/\n.{8}/, '\nAAAAAAAA'),
      one.key,
      'the certificate is damaged',
    ],
    [
      'a damaged chain',
      one.certificate + other.certificate.replace(/\n.{8}/, '\nAAAAAAAA'),
      one.key,
      'a certificate of the chain is damaged',
    ],
    ['no key', one.certificate, '', 'there is no private key in PEM form without a passphrase'],
    ['a key cut short', one.certificate, one.key.slice(0, 80), 'there is no private key in PEM form'],
    ['a key behind a passphrase', one.certificate, locked, 'without a passphrase'],
    ["another certificate's key", one.certificate, other.key, 'the key does not belong to the certificate'],
  ])('are rejected when they are %s, without quoting either', (_what, certificate, key, why) => {
    expect(() => identityOf(certificate, key)).toThrow(why);
  });
});
