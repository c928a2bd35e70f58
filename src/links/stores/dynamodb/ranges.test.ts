import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type DynamoLinks, dynamoLinksAt, freshDynamoLinks } from '../../../../test/kit/dynamo-links.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { inParallel } from '../../../base/in-parallel.ts';
import { seededRandom } from '../../../base/random.ts';
import type { LinkStore } from '../../store.ts';
import { insertItem, sampleLink } from '../../store-samples.ts';
import { rangeKey } from './keys.ts';

describeWithEngine('dynamodb', 'ranges and claims in DynamoDB', () => {
  let links: DynamoLinks;
  beforeAll(async () => {
    links = await freshDynamoLinks();
  });
  afterAll(() => links.store.close());

  const claim = async (store: LinkStore, length: number, id: number): Promise<boolean> => {
    const link = sampleLink(`alias-${length}-${id}`, { origin: 'custom' });
    const [outcome] = await store.insert([insertItem(link, { claim: { length, id } })]);
    return outcome?.kind === 'inserted';
  };

  test('an id is either leased or claimed, however leases and claims interleave', async () => {
    const random = seededRandom(7);
    const other = dynamoLinksAt(links.url).store;
    const size = 60;
    const ids = Array.from({ length: size }, (_, id) => id).sort(() => random.float() - 0.5);
    const granted: number[] = [];
    const leased: number[] = [];
    await inParallel(2 * size, 24, async turn => {
      const store = random.float() < 0.5 ? links.store : other;
      const id = ids[turn / 2];
      if (id !== undefined) {
        if (await claim(store, 3, id)) granted.push(id);
      } else if (turn % 4 === 1) {
        const { from, to, claimed } = await store.leaseRange(3, 4, size);
        for (let next = from; next < to; next += 1) if (!claimed.includes(next)) leased.push(next);
      }
    });
    expect(granted.length).toBeGreaterThan(0);
    expect(leased.length).toBeGreaterThan(0);
    expect(new Set([...granted, ...leased]).size).toBe(granted.length + leased.length);
    await other.close();
  });

  test('a lease learns of the claims in every part that it covers, and of no others', async () => {
    for (const id of [999, 1_000, 2_500, 3_500]) expect(await claim(links.store, 4, id)).toBe(true);
    expect(await links.store.leaseRange(4, 999, 10_000)).toEqual({ from: 0, to: 999, claimed: [] });
    const claimed = [999, 1_000, 2_500];
    expect(await links.store.leaseRange(4, 2_001, 10_000)).toEqual({ from: 999, to: 3_000, claimed });
    expect(await links.store.claims(4)).toEqual([3_500]);
    expect(await claim(links.store, 4, 2_999)).toBe(false);
    expect(await claim(links.store, 4, 3_000)).toBe(true);
  });

  test('a lease that another has overtaken still learns of its claims', async () => {
    const ids = Array.from({ length: 20 }, (_, n) => n * 7);
    for (const id of ids) expect(await claim(links.store, 5, id)).toBe(true);
    const leases = await Promise.all(Array.from({ length: 14 }, () => links.store.leaseRange(5, 10, 1_000)));
    expect(leases.flatMap(({ claimed }) => claimed).sort((a, b) => a - b)).toEqual(ids);
  });

  test('an id below the mark is not claimed even where the lease was never finished', async () => {
    await links.dynamo.write({ put: { ...rangeKey(6), mark: 5_000_000 } });
    expect(await claim(links.store, 6, 4_999_999)).toBe(false);
    expect(await claim(links.store, 6, 5_000_000)).toBe(true);
  });

  test('a lease larger than the space takes what is left', async () => {
    expect(await links.store.leaseRange(2, 10_000, 3_844)).toEqual({ from: 0, to: 3_844, claimed: [] });
    expect(await links.store.leaseRange(2, 10_000, 3_844)).toEqual({ from: 3_844, to: 3_844, claimed: [] });
    expect(await links.store.spans(2)).toEqual([{ first: 0, mark: 3_844 }]);
  });
});
