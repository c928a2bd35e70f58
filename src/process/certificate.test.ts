import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { chmodSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { selfSigned, writePair } from '../../test/kit/self-signed.ts';
import { temporaryFolder } from '../../test/kit/terse-process.ts';
import { ManualClock } from '../base/clock.ts';
import type { TlsIdentity } from '../http/wire/listen-socket.ts';
import { createLog } from '../telemetry/log.ts';
import { type Certificate, openCertificate } from './certificate.ts';

const day = 24 * 60 * 60 * 1_000;
const [first, second] = [
  selfSigned({ name: 'first.test', validUntilMs: 100 * day }),
  selfSigned({ name: 'second.test', validUntilMs: 200 * day }),
];

let folder: string;
let paths: { tlsCertificate: string; tlsKey: string };
let logged: string;
let renewed: TlsIdentity[];

beforeEach(() => {
  folder = temporaryFolder();
  const { TERSE_TLS_CERTIFICATE, TERSE_TLS_KEY } = writePair(folder, first);
  paths = { tlsCertificate: TERSE_TLS_CERTIFICATE, tlsKey: TERSE_TLS_KEY };
  [logged, renewed] = ['', []];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function open(): Promise<Certificate> {
  const clock = new ManualClock();
  const log = createLog({ level: 'info', clock, write: text => (logged += text) });
  const certificate = await openCertificate(paths, clock, log);
  certificate!.follow(identity => renewed.push(identity));
  return {
    ...certificate!,
    async look() {
      await certificate!.look();
      log.flush();
    },
  };
}

const namesSeen = () => renewed.map(({ names }) => /DNS:([^,]+)/.exec(names)?.[1]);
const valuesOf = (certificate: Certificate) =>
  Object.fromEntries(certificate.metrics().map(({ name, samples }) => [name, samples[0]?.value]));

test('nothing is read where the settings name nothing', async () => {
  const none = { tlsCertificate: undefined, tlsKey: undefined };
  const log = createLog({ level: 'info', clock: new ManualClock(), write: () => {} });
  expect(await openCertificate(none, new ManualClock(), log)).toBeUndefined();
});

test('a pair that cannot be used stops the start with one line that names the files', async () => {
  writeFileSync(paths.tlsKey, second.key);
  expect(open()).rejects.toThrow(
    `tlsCertificate ${paths.tlsCertificate} with tlsKey ${paths.tlsKey} cannot be used: the key does not belong to the certificate`,
  );
  rmSync(paths.tlsCertificate);
  expect(open()).rejects.toThrow('ENOENT');
});

test('a key that every user can read is reported', async () => {
  await (await open()).look();
  expect(logged).not.toContain('every user');
  chmodSync(paths.tlsKey, 0o644);
  await (await open()).look();
  expect(logged).toContain('every user of this machine can read the TLS key');
});

describe('a pair that is renewed', () => {
  test('is reported once, and its expiry is shown', async () => {
    const certificate = await open();
    expect(valuesOf(certificate)).toEqual({
      terse_tls_certificate_end_timestamp_seconds: (100 * day) / 1_000,
      terse_tls_certificate_stale: 0,
    });
    await certificate.look();
    writePair(folder, second);
    await certificate.look();
    await certificate.look();
    expect(namesSeen()).toEqual(['second.test']);
    expect(valuesOf(certificate)).toMatchObject({
      terse_tls_certificate_end_timestamp_seconds: (200 * day) / 1_000,
    });
    expect(logged).toContain('a new TLS certificate is in use');
  });

  test('is taken when it is whole: until then the one before stays, and that is said once', async () => {
    const certificate = await open();
    for (const half of [second.certificate.slice(0, 200), second.certificate]) {
      writeFileSync(paths.tlsCertificate, half);
      await certificate.look();
      await certificate.look();
    }
    expect(namesSeen()).toEqual([]);
    expect(valuesOf(certificate)).toMatchObject({ terse_tls_certificate_stale: 1 });
    expect(logged.match(/is kept/g)).toHaveLength(2);
    writeFileSync(paths.tlsKey, second.key);
    await certificate.look();
    expect(namesSeen()).toEqual(['second.test']);
    expect(valuesOf(certificate)).toMatchObject({ terse_tls_certificate_stale: 0 });
    for (const secret of [first.key, second.key]) expect(logged).not.toContain(secret.split('\n')[1]!);
  });

  test('may be missing for a while', async () => {
    const certificate = await open();
    rmSync(paths.tlsKey);
    await certificate.look();
    writePair(folder, first);
    await certificate.look();
    expect(namesSeen()).toEqual([]);
    expect(valuesOf(certificate)).toMatchObject({ terse_tls_certificate_stale: 0 });
  });

  test('may lie behind a symlink that is switched, as mounted secrets do', async () => {
    const [old, young] = [temporaryFolder(), temporaryFolder()];
    writePair(old, first);
    writePair(young, second);
    const link = join(folder, 'current');
    symlinkSync(old, link);
    paths = { tlsCertificate: join(link, 'certificate.pem'), tlsKey: join(link, 'key.pem') };
    const certificate = await open();
    symlinkSync(young, `${link}-next`);
    renameSync(`${link}-next`, link);
    await certificate.look();
    expect(namesSeen()).toEqual(['second.test']);
    for (const each of [old, young]) rmSync(each, { recursive: true, force: true });
  });
});

test('the files are checked every second', async () => {
  const clock = new ManualClock();
  const log = createLog({ level: 'info', clock, write: () => {} });
  const certificate = await openCertificate(paths, clock, log);
  const renewed = Promise.withResolvers<TlsIdentity>();
  const stop = certificate!.follow(renewed.resolve);
  writePair(folder, second);
  clock.advance(1_000);
  expect((await renewed.promise).names).toContain('second.test');
  stop();
});
