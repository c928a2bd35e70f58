/**
 * Two copies of a table, as in a global table: a write to one arrives at the other item by item and some time later, or
 * not before its region is lost. DynamoDB Local has no global tables, so the copying is done here.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type DynamoLinks, freshDynamoLinks } from '../../../../test/kit/dynamo-links.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { createCodeSpace } from '../../../codes/code-space.ts';
import { shareOf } from '../../../codes/id-share.ts';
import type { Item } from '../../../engines/dynamodb/dynamodb.ts';
import { insertItem, sampleLink } from '../../store-samples.ts';

const space = createCodeSpace(new Uint8Array(32), 7);
const shares = [1, 2].map(number => shareOf({ number, count: 2 }, space.size));

describeWithEngine('dynamodb', 'two regions with copies of one table', () => {
  let copies: [DynamoLinks, DynamoLinks];
  beforeEach(async () => {
    copies = [await freshDynamoLinks(), await freshDynamoLinks()];
  });
  afterEach(() => Promise.all(copies.map(({ store }) => store.close())));

  /** Creates links with every id of a new lease; returns their codes. */
  async function makeIn(region: 0 | 1, count: number): Promise<string[]> {
    const { first, limit } = shares[region]!;
    const { store } = copies[region];
    const { from, to } = await store.leaseRange(space.length, count, limit, first);
    const codes = Array.from({ length: to - from }, (_, n) => space.encode(from + n));
    const outcomes = await store.insert(codes.map(code => insertItem(sampleLink(code), { leased: true })));
    expect(outcomes.every(({ kind }) => kind === 'inserted')).toBe(true);
    return codes;
  }

  /** Copies the contents of one table to the other. */
  async function carry(from: DynamoLinks, to: DynamoLinks): Promise<void> {
    const { items } = await from.dynamo.scan<Item>({ limit: 1_000 });
    await to.dynamo.batchWrite(items.map(put => ({ put })));
  }

  test('issue no code twice, however much of the other has arrived', async () => {
    const [a, b] = copies;
    const given = await makeIn(0, 20);
    await carry(a, b);
    given.push(...(await makeIn(0, 20)), ...(await makeIn(1, 20)), ...(await makeIn(1, 20)));
    expect(new Set(given).size).toBe(80);
    await carry(a, b);
    await carry(b, a);
    given.push(...(await makeIn(0, 20)), ...(await makeIn(1, 20)));
    expect(new Set(given).size).toBe(120);
  });

  test('know the leases of both, and resolve the links of both, once they have arrived', async () => {
    const [a, b] = copies;
    const [ofA, ofB] = [await makeIn(0, 10), await makeIn(1, 10)];
    await carry(a, b);
    await carry(b, a);
    for (const { store } of copies) {
      expect(await store.spans(space.length)).toEqual(
        shares.map(({ first }) => ({ first, mark: first + 10 })),
      );
      for (const code of [ofA[9]!, ofB[9]!]) expect(await store.find(code)).toEqual(sampleLink(code));
    }
  });
});
