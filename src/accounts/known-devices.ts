/**
 * Browsers that an account has signed in with. Each keeps a token which proves it, so that its owner can sign in while
 * strangers guess the password. The token grants no access: it only has a separate limit instead of the strangers'.
 * Nothing is stored: the token is signed with a key of the installation, together with the password's hash, so a new
 * password invalidates every earlier token.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Account } from './account.ts';

export const deviceLifeMs = 365 * 24 * 60 * 60_000;

export interface KnownDevices {
  /** The id of the device that holds this token of the account; undefined when the token is invalid. */
  idOf(token: string | undefined, account: Account | undefined): string | undefined;
  /** A token for the device, or for a new one; undefined for an account without a password to guess. */
  issue(account: Account, deviceId?: string): string | undefined;
}

const idBytes = 9;
const tokenPattern = /^([0-9a-z]{1,9})\.([\w-]{12})\.([\w-]{43})$/;

export function createKnownDevices(key: Uint8Array, clock: Clock, random: Random): KnownDevices {
  const nowS = (): number => Math.floor(clock.now() / 1_000);
  const signature = ({ id, passwordHash }: Account, endS: number, deviceId: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([id, passwordHash, endS, deviceId]))
      .digest();

  return {
    idOf(token = '', account) {
      const [, digits = '', deviceId = '', given = ''] = tokenPattern.exec(token) ?? [];
      if (account === undefined || account.passwordHash === null || given === '') return undefined;
      const endS = Number.parseInt(digits, 36);
      if (endS <= nowS()) return undefined;
      const isOurs = timingSafeEqual(Buffer.from(given, 'base64url'), signature(account, endS, deviceId));
      return isOurs ? deviceId : undefined;
    },
    issue(account, deviceId = Buffer.from(random.bytes(idBytes)).toString('base64url')) {
      if (account.passwordHash === null) return undefined;
      const endS = nowS() + deviceLifeMs / 1_000;
      return `${endS.toString(36)}.${deviceId}.${signature(account, endS, deviceId).toString('base64url')}`;
    },
  };
}
