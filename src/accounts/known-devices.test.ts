import { expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { fakeAccount } from './fake-actors.ts';
import { createKnownDevices, deviceLifeMs } from './sign-in.ts';

const clock = new ManualClock();
const random = seededRandom(1);
const devices = createKnownDevices(random.bytes(32), clock, random);
const ada = fakeAccount('acc_ada', { passwordHash: '$argon2id$of ada' });
const bob = fakeAccount('acc_bob', { passwordHash: '$argon2id$of bob' });

test('a device is known by its token, which is different for every device', () => {
  const [one, two] = [devices.issue(ada)!, devices.issue(ada)!];
  const ids = [devices.idOf(one, ada), devices.idOf(two, ada)];
  expect(ids).toEqual([expect.any(String), expect.any(String)]);
  expect(ids[0]).not.toBe(ids[1]);
  expect(devices.idOf(devices.issue(ada, ids[0]), ada)).toBe(ids[0]);
});

test('a token is invalid for another account, after a new password, or in another installation', () => {
  const token = devices.issue(ada)!;
  expect(devices.idOf(token, bob)).toBeUndefined();
  expect(devices.idOf(token, { ...bob, passwordHash: ada.passwordHash })).toBeUndefined();
  expect(devices.idOf(token, { ...ada, passwordHash: '$argon2id$a newer one' })).toBeUndefined();
  expect(devices.idOf(token, undefined)).toBeUndefined();
  expect(createKnownDevices(random.bytes(32), clock, random).idOf(token, ada)).toBeUndefined();
});

test('an account without a password has no devices', () => {
  const keyOnly = fakeAccount('acc_key');
  expect(devices.issue(keyOnly)).toBeUndefined();
  expect(devices.idOf(devices.issue(ada), keyOnly)).toBeUndefined();
});

test('a token expires after a year', () => {
  const issuedAt = clock.now();
  const token = devices.issue(ada)!;
  clock.set(issuedAt + deviceLifeMs - 1_000);
  expect(devices.idOf(token, ada)).toBeDefined();
  clock.set(issuedAt + deviceLifeMs);
  expect(devices.idOf(token, ada)).toBeUndefined();
});

test('a token that was changed anywhere is worth nothing', () => {
  const token = devices.issue(ada)!;
  const [end = '', id = '', signature = ''] = token.split('.');
  const later = (Number.parseInt(end, 36) + 1_000_000).toString(36);
  for (const forged of [
    `${later}.${id}.${signature}`,
    `${end}.${'A'.repeat(12)}.${signature}`,
    `${end}.${id}.${'A'.repeat(43)}`,
    `${end}.${id}.${signature}x`,
    `${end}.${id}.${signature.slice(0, -1)}`,
    `${end}.${id}`,
    ` ${token}`,
    `${token}\n`,
    '',
    '..',
    'x'.repeat(100_000),
  ]) {
    expect(devices.idOf(forged, ada)).toBeUndefined();
  }
  expect(devices.idOf(token, ada)).toBe(id);
});
