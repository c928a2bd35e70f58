import { describe, expect, test } from 'bun:test';
import { seededRandom } from '../../../base/random.ts';
import { otherValue, valuesMax } from '../../warehouse.ts';
import { byList, entryOf, type Rows } from './chunk.ts';
import { readSlots, readWhole, SummaryBuilder } from './summary.ts';

/** Clicks of a day whose referrers have these domains, all else being equal. */
function rowsOf(domains: readonly string[]): Rows {
  const places = Uint32Array.from(domains, (_, index) => index);
  const zeros = new Uint32Array(domains.length);
  return {
    at: Uint32Array.from(domains, (_, index) => (index * 7_919) % 86_400_000),
    kind: new Uint8Array(domains.length),
    token: places,
    codes: { ...byList(() => zeros), referrer: places },
    lists: { ...byList(() => ['']), referrer: domains.map(domain => entryOf([domain, ''])) },
  };
}

describe('lists of values in bounded space', () => {
  test('obey the bounds for any traffic, cut in any way', () => {
    const random = seededRandom(1);
    const domains: string[] = [];
    for (let click = 0; click < 60_000; click += 1) {
      // A few sites that people come from, among invented ones that come once or twice.
      const isReal = random.float() < 0.02;
      domains.push(
        isReal ? `real${Math.floor(random.float() * 5)}` : `invented${Math.floor(random.float() * 40_000)}`,
      );
    }
    const builder = new SummaryBuilder();
    for (let from = 0; from < domains.length; ) {
      const to = Math.min(domains.length, from + 1 + Math.floor(random.float() * 9_000));
      builder.add(rowsOf(domains.slice(from, to)), 0, to - from);
      from = to;
    }
    const summary = builder.finish(true);
    const { values, clicks } = readWhole(summary).referrer!;
    const came = new Map<string, number>();
    for (const domain of domains) came.set(domain, (came.get(domain) ?? 0) + 1);
    expect(values.length).toBeLessThanOrEqual(valuesMax + 1);
    expect(clicks.reduce((sum, each) => sum + each, 0)).toBe(domains.length);
    for (const [index, value] of values.entries())
      if (value !== otherValue) expect(clicks[index]!).toBeLessThanOrEqual(came.get(value)!);
    for (const [value, count] of came) {
      if (count <= domains.length / 2_048) continue;
      const listed = clicks[values.indexOf(value)] ?? 0;
      expect(listed).toBeGreaterThan(count - domains.length / 1_024);
      expect(listed).toBeGreaterThan(0);
    }
    // Quarter hours add up to the day.
    const slots = readSlots(summary).referrer!;
    for (const [index, pairs] of slots.entries())
      expect(pairs.filter((_, at) => at % 2 === 1).reduce((sum, each) => sum + each, 0)).toBe(clicks[index]!);
  });

  test('are exact while they fit', () => {
    const domains = Array.from({ length: 5_000 }, (_, n) => `site${n % 900}`);
    const builder = new SummaryBuilder();
    builder.add(rowsOf(domains), 0, domains.length);
    const { values, clicks } = readWhole(builder.finish(true)).referrer!;
    expect(values).toHaveLength(900);
    expect(clicks.every(each => each === 5 || each === 6)).toBe(true);
    expect(values).not.toContain(otherValue);
  });
});
