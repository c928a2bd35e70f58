import { describe, expect, test } from 'bun:test';
import { ManualClock, systemClock, yieldToEventLoop } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { seededRandom } from '../../base/random.ts';
import { createCodeSpace } from '../code-space.ts';
import { FakeRangeSource } from '../fake-range-source.ts';
import { describeGenerator } from '../generator.conformance.ts';
import { shareOf } from '../id-share.ts';
import { createRangeGenerator } from './range.ts';

const secret = new Uint8Array(32).fill(1);
const request = { longUrl: 'https://example.com/', ownerId: null, attempt: 0 };

describeGenerator('range', {
  length: 7,
  leased: true,
  distinctAcrossProcesses: true,
  createInstallation() {
    const source = new FakeRangeSource();
    const space = createCodeSpace(secret, 7);
    return {
      start: (isAllowed = () => true) =>
        createRangeGenerator({
          source,
          space,
          clock: systemClock,
          random: seededRandom(1),
          waitMaxMs: 20,
          isAllowed,
        }),
    };
  },
});

describe('range', () => {
  function start(length: number) {
    const source = new FakeRangeSource();
    const clock = new ManualClock();
    const space = createCodeSpace(secret, length);
    const generator = createRangeGenerator({
      source,
      space,
      clock,
      random: seededRandom(1),
      rangeSize: 10,
      poolMax: 10,
      waitMaxMs: 200,
    });
    return { source, clock, space, generator };
  }

  test('draws unleased codes at random while the allocator stays down, and leased ones once it is back', async () => {
    const { source, clock, space, generator } = start(7);
    source.down = true;
    const down = [];
    for (let index = 0; index < 5; index += 1) {
      const minting = generator.mint(request);
      await yieldToEventLoop();
      clock.advance(200);
      down.push(await minting);
    }
    expect(down.map(({ leased }) => leased)).toEqual([false, false, false, false, false]);
    expect(new Set(down.map(({ code }) => code)).size).toBe(5);
    expect(down.every(({ code }) => space.decode(code) !== undefined)).toBe(true);

    await yieldToEventLoop();
    source.down = false;
    clock.advance(5_000);
    await yieldToEventLoop();
    expect((await generator.mint(request)).leased).toBe(true);
  });

  test('reports an exhausted space as a problem instead of drawing codes that must be taken', async () => {
    const { source, generator } = start(1);
    const codes = new Set<string>();
    for (let index = 0; index < 62; index += 1) codes.add((await generator.mint(request)).code);
    expect(codes.size).toBe(62);
    await expect(generator.mint(request)).rejects.toMatchObject({ code: 'codes_exhausted' });
    expect(source.asked).toBeGreaterThanOrEqual(7);
  });

  test('rejects mints after close with a retryable problem', async () => {
    const { generator } = start(7);
    generator.close();
    const problem = await generator.mint(request).catch(error => error);
    expect(problem).toBeInstanceOf(Problem);
    expect(problem.status).toBe(503);
  });

  test('of a region gives codes of its own share, leased or drawn', async () => {
    const source = new FakeRangeSource();
    const clock = new ManualClock();
    const space = createCodeSpace(secret, 7);
    const share = shareOf({ number: 3, count: 8 }, space.size);
    const generator = createRangeGenerator({
      source,
      space,
      share,
      clock,
      random: seededRandom(1),
      waitMaxMs: 200,
    });
    const isOurs = (code: string): boolean => {
      const id = space.decode(code)!;
      return id >= share.first && id < share.limit;
    };
    await yieldToEventLoop();
    for (let count = 0; count < 50; count += 1) {
      const { code, leased } = await generator.mint(request);
      expect([leased, isOurs(code)]).toEqual([true, true]);
    }
    generator.close();

    source.down = true;
    const cutOff = createRangeGenerator({
      source,
      space,
      share,
      clock,
      random: seededRandom(2),
      waitMaxMs: 200,
    });
    for (let count = 0; count < 50; count += 1) {
      const minting = cutOff.mint(request);
      await yieldToEventLoop();
      clock.advance(200);
      const { code, leased } = await minting;
      expect([leased, isOurs(code)]).toEqual([false, true]);
    }
    cutOff.close();
  });
});
