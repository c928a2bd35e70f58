import { afterEach, beforeEach, expect, test } from 'bun:test';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { selfSigned, writePair } from '../../../test/kit/self-signed.ts';
import { temporaryFolder } from '../../../test/kit/terse-process.ts';
import { ManualClock } from '../../base/clock.ts';
import { findingOf, verdictsOf } from './fake-verdicts.ts';
import { examineCertificate } from './machine.ts';

const nowMs = Date.UTC(2026, 5, 1);
const dayMs = 24 * 60 * 60 * 1_000;
let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function look(daysLeft: number, change: (paths: { certificate: string; key: string }) => void = () => {}) {
  const pair = selfSigned({ name: 'sho.rt', validUntilMs: nowMs + daysLeft * dayMs });
  const { TERSE_TLS_CERTIFICATE: certificate, TERSE_TLS_KEY: key } = writePair(folder, pair);
  change({ certificate, key });
  return examineCertificate({ tlsCertificate: certificate, tlsKey: key }, new ManualClock(nowMs));
}

test('a certificate is ok while there is time to renew it', async () => {
  expect(verdictsOf(await look(30))).toEqual({ names: 'ok', end: 'ok', key: 'ok' });
  expect(findingOf(await look(30), 'names')?.detail).toContain('sho.rt');
  expect(verdictsOf(await look(13))).toMatchObject({ end: 'warn' });
  expect(verdictsOf(await look(-1))).toMatchObject({ end: 'fail' });
});

test('a key that every user can read is worth a warning', async () => {
  expect(verdictsOf(await look(30, ({ key }) => chmodSync(key, 0o644)))).toMatchObject({ key: 'warn' });
});

test('files that are missing or do not belong together fail, and the key is not shown', async () => {
  const other = selfSigned();
  const foreign = await look(30, ({ key }) => writeFileSync(key, other.key));
  expect(foreign).toMatchObject([{ verdict: 'fail', detail: 'the key does not belong to the certificate' }]);
  expect(verdictsOf(await look(30, ({ certificate }) => rmSync(certificate)))).toEqual({ files: 'fail' });
});

test('without a certificate there is nothing to say', async () => {
  const none = { tlsCertificate: undefined, tlsKey: undefined };
  expect(await examineCertificate(none, new ManualClock(nowMs))).toEqual([]);
});
