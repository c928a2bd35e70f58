import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { createVisitorHasher } from './visitor-hash.ts';

const secret = new Uint8Array(32).fill(7);
const hasher = createVisitorHasher({ secret });
const noon = Date.UTC(2026, 0, 15, 12);
const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0';
const [hourMs, dayMs] = [3_600_000, 86_400_000];

describe('a visitor', () => {
  test('has 16 hex digits that reveal nothing', () => {
    const visitor = hasher.visitorOf('203.0.113.9', agent, noon);
    expect(visitor).toMatch(/^[0-9a-f]{16}$/);
  });

  test('is the keyed hash that the documents describe', () => {
    const key = createHmac('sha256', secret).update('visitor salt 2026-01-15').digest();
    const expected = createHmac('sha256', key).update(`203.0.113.9\n${agent}`).digest('hex').slice(0, 16);
    expect(hasher.visitorOf('203.0.113.9', agent, noon)).toBe(expected);
  });

  test('stays the same within a UTC day, and is another on the next', () => {
    const first = Date.UTC(2026, 0, 15);
    const visitor = hasher.visitorOf('203.0.113.9', agent, first);
    for (const atMs of [first, first + hourMs, first + dayMs - 1]) {
      expect(hasher.visitorOf('203.0.113.9', agent, atMs)).toBe(visitor);
    }
    expect(hasher.visitorOf('203.0.113.9', agent, first - 1)).not.toBe(visitor);
    expect(hasher.visitorOf('203.0.113.9', agent, first + dayMs)).not.toBe(visitor);
  });

  test('is the same for every process of an installation, whatever it has hashed before', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 5 })), days => {
        const other = createVisitorHasher({ secret });
        for (const day of days) {
          const atMs = noon + day * dayMs;
          expect(other.visitorOf('203.0.113.9', agent, atMs)).toBe(
            createVisitorHasher({ secret }).visitorOf('203.0.113.9', agent, atMs),
          );
        }
      }),
    );
  });

  test('differs by address, by agent and by installation', () => {
    const visitors = [
      hasher.visitorOf('203.0.113.9', agent, noon),
      hasher.visitorOf('203.0.113.10', agent, noon),
      hasher.visitorOf('203.0.113.9', `${agent}.1`, noon),
      hasher.visitorOf('203.0.113.9', '', noon),
      hasher.visitorOf('203.0.113.', `9${agent}`, noon),
      createVisitorHasher({ secret: new Uint8Array(32).fill(8) }).visitorOf('203.0.113.9', agent, noon),
    ];
    expect(new Set(visitors).size).toBe(visitors.length);
  });

  test('is one person, whichever kind of socket listened', () => {
    const visitor = hasher.visitorOf('203.0.113.9', agent, noon);
    expect(hasher.visitorOf('::ffff:203.0.113.9', agent, noon)).toBe(visitor);
    expect(hasher.visitorOf('::ffff:cb00:7109', agent, noon)).toBe(visitor);
  });

  test('is unique among a hundred thousand, and every digit is used evenly', () => {
    const visitors = new Set<string>();
    const counts = new Map<string, number>();
    for (let index = 0; index < 100_000; index += 1) {
      const visitor = hasher.visitorOf(`198.51.${index >> 8}.${index & 255}`, agent, noon);
      visitors.add(visitor);
      const bucket = visitor.slice(-2);
      counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
    }
    expect(visitors.size).toBe(100_000);
    // Each of 256 buckets expects 391 with a deviation of 20; six of those never happen by chance.
    expect(counts.size).toBe(256);
    expect(Math.max(...counts.values())).toBeLessThan(391 + 6 * 20);
    expect(Math.min(...counts.values())).toBeGreaterThan(391 - 6 * 20);
  });
});

describe('salts', () => {
  test('given by the caller replace the derived ones, and are asked for once a day', () => {
    const asked: string[] = [];
    const salted = createVisitorHasher({
      salt: day => {
        asked.push(day);
        return Buffer.from(`random salt of ${day}`);
      },
    });
    const today = salted.visitorOf('203.0.113.9', agent, noon);
    expect(salted.visitorOf('203.0.113.9', agent, noon + 1)).toBe(today);
    expect(salted.visitorOf('203.0.113.9', agent, noon + dayMs)).not.toBe(today);
    expect(salted.visitorOf('203.0.113.9', agent, noon)).toBe(today);
    expect(today).not.toBe(hasher.visitorOf('203.0.113.9', agent, noon));
    expect(asked).toEqual(['2026-01-15', '2026-01-16']);
  });

  test('of two days are kept and no more', () => {
    const asked: string[] = [];
    const salted = createVisitorHasher({
      salt: day => {
        asked.push(day);
        return new Uint8Array(16);
      },
    });
    for (const day of [0, 1, 2, 1, 2, 0, 2, 1]) salted.visitorOf('203.0.113.9', agent, noon + day * dayMs);
    expect(asked.map(day => day.slice(-2))).toEqual(['15', '16', '17', '15', '16']);
  });

  test('and secrets that could be guessed are refused', () => {
    expect(() => createVisitorHasher({ secret: new Uint8Array(15) })).toThrow(RangeError);
    const weak = createVisitorHasher({ salt: () => new Uint8Array(15) });
    expect(() => weak.visitorOf('203.0.113.9', agent, noon)).toThrow(RangeError);
  });
});
