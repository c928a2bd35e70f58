/**
 * Guessing passwords from many addresses at once: against one account, to break in or to lock its owner out, and
 * against all of them, to keep the server busy hashing. Others sign in meanwhile, the attacked owner gets in, and
 * clients that do not wait for their answer cost the others nothing.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { type Call, callerOf } from '../kit/client.ts';
import { type RawAnswer, RawConnection } from '../kit/raw-http.ts';
import { rateOf, report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(heavyTestMaxMs);

const floodAddresses = scaled(25, 100);
/** Concurrent attempts of each address. */
const attemptsAtOnce = scaled(4, 5);
const floodPauseMs = scaled(50, 5);
const signIns = scaled(5, 20);
/** Only ends a run that hangs; a person would wait for two seconds. */
const signInMaxMs = 60_000;

const password = 'correct horse battery';
const owner = 'owner@example.com';
const user = 'user@example.com';

let nextAddress = 0;
/** A loopback address that has not been used. */
const freshAddress = (): string => {
  nextAddress += 1;
  return `127.7.${nextAddress >> 8}.${nextAddress & 255}`;
};

async function send(url: string, from: string, body: unknown, cookie = ''): Promise<RawAnswer | undefined> {
  const connection = await RawConnection.open(url, { from });
  connection.write(requestOf(body, cookie));
  return (await connection.answersUntilClosed())[0];
}

function requestOf(body: unknown, cookie: string): Buffer {
  const text = JSON.stringify(body);
  const fields = [
    'POST /api/v1/session HTTP/1.1',
    'Host: localhost',
    'Connection: close',
    'Content-Type: application/json',
    ...(cookie === '' ? [] : [`Cookie: ${cookie}`]),
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  return Buffer.from(`${fields.join('\r\n')}\r\n\r\n${text}`);
}

interface Flood {
  /** How often each status was the answer. */
  readonly answers: Readonly<Record<number, number>>;
  /** Ends it; returns what it came to. */
  stop(): Promise<string>;
}

/** Every address guesses as fast as it is answered. `leaves`: it does not wait for answers. */
function startFlood(url: string, emailOf: () => string, { leaves = false } = {}): Flood {
  const answers: Record<number, number> = {};
  const startedMs = systemClock.monotonicMs();
  let isOver = false;
  const guess = async (from: string): Promise<void> => {
    while (!isOver) {
      const body = { email: emailOf(), password: 'a wrong password' };
      try {
        if (leaves) {
          const connection = await RawConnection.open(url, { from });
          connection.write(requestOf(body, ''));
          await Bun.sleep(floodPauseMs);
          connection.abandon();
          answers[0] = (answers[0] ?? 0) + 1;
        } else {
          const status = (await send(url, from, body))?.status ?? 0;
          answers[status] = (answers[status] ?? 0) + 1;
        }
      } catch {
        answers[0] = (answers[0] ?? 0) + 1;
      }
      await Bun.sleep(floodPauseMs);
    }
  };
  const loops = Array.from({ length: floodAddresses }, freshAddress).flatMap(from =>
    Array.from({ length: attemptsAtOnce }, () => guess(from)),
  );
  return {
    answers,
    async stop() {
      isOver = true;
      await Promise.all(loops);
      const elapsedMs = systemClock.monotonicMs() - startedMs;
      const count = Object.values(answers).reduce((sum, each) => sum + each, 0);
      return `${rateOf(count, elapsedMs)} from ${floodAddresses} addresses, ${JSON.stringify(answers)}`;
    },
  };
}

/** Returns once every address has had answers to its first attempts. */
async function untilUnderWay({ answers }: Flood): Promise<void> {
  const count = () => Object.values(answers).reduce((sum, each) => sum + each, 0);
  await until('the flood', () => count() >= floodAddresses * 4, { maxMs: signInMaxMs });
}

interface SignedIn {
  readonly ms: number;
  readonly tries: number;
  readonly cookie: string;
}

/** Signs in as a person would, who tries again when the server says that it is busy. */
async function signIn(url: string, body: unknown, from: string, cookie = ''): Promise<SignedIn> {
  const startedMs = systemClock.monotonicMs();
  for (let tries = 1; ; tries += 1) {
    const answer = await send(url, from, body, cookie);
    const ms = systemClock.monotonicMs() - startedMs;
    if (answer?.status === 201) {
      const kept = /terse_device=[^;]+/.exec(answer.headers['set-cookie'] ?? '')?.[0] ?? '';
      return { ms, tries, cookie: kept };
    }
    if (answer?.status !== 503 || ms > signInMaxMs) {
      throw new Error(`signing in was answered ${answer?.status} ${answer?.body}`);
    }
    await Bun.sleep(200);
  }
}

/** Signs in from one new address after another, and says how long it took and how many guesses were checked meanwhile. */
async function signInOften(
  url: string,
  { answers }: Flood,
): Promise<{ readonly guesses: number; readonly text: string }> {
  const done: SignedIn[] = [];
  const overtaken: number[] = [];
  const ascending = (a: number, b: number): number => a - b;
  for (let n = 0; n < signIns; n += 1) {
    const before = answers[401] ?? 0;
    done.push(await signIn(url, { email: user, password }, freshAddress()));
    overtaken.push((answers[401] ?? 0) - before);
    await Bun.sleep(scaled(10, 100));
  }
  const ms = done.map(each => each.ms).toSorted(ascending);
  const at = (share: number): string => `${Math.round(ms[Math.ceil(share * ms.length) - 1]!)} ms`;
  const tries = done.reduce((sum, each) => sum + each.tries, 0);
  const guesses = overtaken.toSorted(ascending)[overtaken.length >> 1]!;
  const times = `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`;
  return {
    guesses,
    text: `${done.length} in ${tries} tries, ${times}, ${guesses} guesses checked meanwhile`,
  };
}

async function makeAccount(call: Call, email: string): Promise<void> {
  const { id } = (await call('POST', '/api/v1/accounts', { body: { name: email, email } })).body;
  const { token } = (await call('POST', `/api/v1/accounts/${id}/invitation`)).body;
  const accepted = await call('POST', '/api/v1/invitations/accept', {
    key: undefined,
    body: { token, password },
  });
  expect(accepted.status).toBe(200);
  if (email !== owner) return;
  const { key } = (await call('POST', '/api/v1/keys', { body: { name: 'of the owner', accountId: id } }))
    .body;
  ownerKey = key;
}

let terse: TerseProcess;
let ownerKey: string;

async function start(limits: string): Promise<void> {
  terse = await startTerseProcess({ env: { TERSE_LIMITS: limits } });
  const call = callerOf(terse.url);
  for (const email of [owner, user]) await makeAccount(call, email);
}

describe('a flood of guesses at one account', () => {
  beforeAll(() => start('default'));
  afterAll(() => terse.stop());

  test('lets others sign in, and its owner on a known device, on a new one and with a key', async () => {
    const known = await signIn(terse.url, { email: owner, password }, freshAddress());
    expect(known.cookie).not.toBe('');
    const flood = startFlood(terse.url, () => owner);
    try {
      await untilUnderWay(flood);
      const others = await signInOften(terse.url, flood);
      const fromKnown: SignedIn[] = [];
      for (let n = 0; n < 5; n += 1) {
        fromKnown.push(await signIn(terse.url, { email: owner, password }, freshAddress(), known.cookie));
      }
      const fromNew: SignedIn[] = [];
      for (let n = 0; n < 3; n += 1) {
        fromNew.push(await signIn(terse.url, { email: owner, password }, freshAddress()));
      }
      const withKey = await signIn(terse.url, { key: ownerKey }, freshAddress());
      const shown = (each: readonly SignedIn[]): string => each.map(({ ms }) => Math.round(ms)).join(', ');
      report(`another user: ${others.text}`);
      report(`the owner: known device ${shown(fromKnown)} ms; new device ${shown(fromNew)} ms`);
      report(`the owner: API key ${shown([withKey])} ms`);
    } finally {
      report(`flood at one account: ${await flood.stop()}`);
    }
    // The guesses that were tried are bounded: two for each address, and thirty an hour.
    expect(flood.answers[401]).toBeLessThanOrEqual(floodAddresses * 2 + 32);
    expect(flood.answers[429]).toBeGreaterThan(0);
    expect(flood.answers[201]).toBeUndefined();
  });
});

describe('a flood of guesses at all accounts, with the limit by address switched off', () => {
  beforeAll(() => start('signIn=off'));
  afterAll(() => terse.stop());

  let invented = 0;
  const anyEmail = (): string => {
    invented += 1;
    return invented % 10 === 0 ? owner : `invented${invented}@example.com`;
  };

  test('keeps hashing busy, and others sign in all the same', async () => {
    const flood = startFlood(terse.url, anyEmail);
    try {
      await untilUnderWay(flood);
      const others = await signInOften(terse.url, flood);
      report(`another user: ${others.text}`);
      // The hash in progress when a client arrives, and a few more; with first come, first served it would be the whole
      // queue.
      expect(others.guesses).toBeLessThan(floodAddresses / 2);
    } finally {
      report(`flood at all accounts: ${await flood.stop()}`);
    }
    // Unless the queue was full, the test has shown nothing.
    expect(flood.answers[503]).toBeGreaterThan(0);
  });

  test('by clients that do not wait for their answers is not worked off', async () => {
    const before = await metric('terse_passwords_rejected_total');
    const flood = startFlood(terse.url, anyEmail, { leaves: true });
    try {
      await untilUnderWay(flood);
      const others = await signInOften(terse.url, flood);
      report(`another user: ${others.text}`);
    } finally {
      report(`flood of clients that leave: ${await flood.stop()}`);
    }
    expect(await metric('terse_passwords_rejected_total')).toBeGreaterThan(before);
    await drained();
  });

  async function metric(name: string): Promise<number> {
    const text = String((await callerOf(terse.url)('GET', '/metrics')).body);
    return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1]);
  }

  /** The queue empties by itself, so no work remains for clients that left. */
  async function drained(): Promise<void> {
    const deadlineMs = systemClock.monotonicMs() + signInMaxMs;
    while ((await metric('terse_passwords_waiting')) > 0) {
      if (systemClock.monotonicMs() > deadlineMs) throw new Error('the queue does not empty');
      await Bun.sleep(50);
    }
  }
});
