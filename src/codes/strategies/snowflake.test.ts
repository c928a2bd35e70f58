import { describe, expect, test } from 'bun:test';
import { ManualClock, systemClock, yieldToEventLoop } from '../../base/clock.ts';
import { createCodeSpace } from '../code-space.ts';
import { describeGenerator } from '../generator.conformance.ts';
import { createSnowflakeGenerator, snowflakeEpochMs } from './snowflake.ts';

const secret = new Uint8Array(32).fill(2);
const space = createCodeSpace(secret, 11);
const request = { longUrl: 'https://example.com/', ownerId: null, attempt: 0 };

describeGenerator('snowflake', {
  length: 11,
  leased: { no: 'two processes may be given one machine number by mistake' },
  distinctAcrossProcesses: true,
  createInstallation() {
    let machine = 0;
    return {
      start(isAllowed = () => true) {
        const generator = createSnowflakeGenerator({ space, machine, clock: systemClock, isAllowed });
        machine += 1;
        return generator;
      },
    };
  },
});

describe('snowflake', () => {
  const nowMs = Date.UTC(2026, 6, 1);

  test('never repeats a code when the clock goes back', async () => {
    const clock = new ManualClock(nowMs);
    const generator = createSnowflakeGenerator({ space, machine: 1, clock });
    const codes = new Set<string>();
    let minted = 0;
    for (const stepMs of [0, 1, -3_600_000, 1, -1, 500, 3_600_000, -5, 7]) {
      clock.set(clock.now() + stepMs);
      for (let index = 0; index < 5_000; index += 1) codes.add((await generator.mint(request)).code);
      minted += 5_000;
    }
    expect(codes.size).toBe(minted);
  });

  test('waits for the clock once it has borrowed all the time it may, then continues', async () => {
    const clock = new ManualClock(nowMs);
    const generator = createSnowflakeGenerator({ space, machine: 1, clock, leadMaxMs: 1 });
    const codes = new Set<string>();
    for (let index = 0; index < 2 * 4_096; index += 1) codes.add((await generator.mint(request)).code);

    let settled = false;
    const waiting = generator.mint(request).finally(() => {
      settled = true;
    });
    await yieldToEventLoop();
    expect(settled).toBe(false);
    clock.advance(1);
    codes.add((await waiting).code);
    expect(codes.size).toBe(2 * 4_096 + 1);
  });

  test('rejects instead of waiting for hours when the clock was set far back', async () => {
    const clock = new ManualClock(nowMs);
    const generator = createSnowflakeGenerator({ space, machine: 1, clock, leadMaxMs: 0 });
    for (let index = 0; index < 4_096; index += 1) await generator.mint(request);
    clock.set(nowMs - 3_600_000);
    await expect(generator.mint(request)).rejects.toMatchObject({ code: 'overloaded' });
  });

  test('keeps machines, milliseconds and sequence numbers apart up to their last values', async () => {
    const lastMs = snowflakeEpochMs + 2 ** 41 - 1;
    const codes = new Set<string>();
    for (const length of [11, 12]) {
      for (const machine of [0, 1, 1_022, 1_023]) {
        for (const time of [
          snowflakeEpochMs,
          snowflakeEpochMs + 1,
          snowflakeEpochMs + 4_096,
          lastMs - 1,
          lastMs,
        ]) {
          const clock = new ManualClock(time);
          const generator = createSnowflakeGenerator({
            space: createCodeSpace(secret, length),
            machine,
            clock,
            leadMaxMs: 0,
          });
          for (let index = 0; index < 4_096; index += 1) codes.add((await generator.mint(request)).code);
        }
      }
    }
    expect(codes.size).toBe(2 * 4 * 5 * 4_096);
  });

  test('reports the end of its 41 bits of time instead of starting over', async () => {
    const clock = new ManualClock(snowflakeEpochMs + 2 ** 41);
    const generator = createSnowflakeGenerator({ space, machine: 1, clock });
    await expect(generator.mint(request)).rejects.toMatchObject({ code: 'codes_exhausted' });
  });

  test('counts on from its epoch when the clock is still before it', async () => {
    const clock = new ManualClock(0);
    const generator = createSnowflakeGenerator({ space, machine: 1, clock });
    const codes = new Set<string>();
    for (let index = 0; index < 5_000; index += 1) codes.add((await generator.mint(request)).code);
    expect(codes.size).toBe(5_000);
  });

  test('refuses a code too short for 63 bits and a machine number too big for 10', () => {
    const clock = new ManualClock();
    expect(() => createSnowflakeGenerator({ space: createCodeSpace(secret, 10), machine: 1, clock })).toThrow(
      '11 characters',
    );
    expect(() => createSnowflakeGenerator({ space, machine: 1_024, clock })).toThrow('1023');
  });
});
