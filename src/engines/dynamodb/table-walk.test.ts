import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { freshDynamoTable } from '../../../test/kit/dynamo-table.ts';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import type { Key } from './expressions.ts';
import { TableWalk, type TableWalkOptions, type WalkedPart } from './table-walk.ts';

const links: WalkedPart = { part: 'links', prefix: 'l#' };
const reviews: WalkedPart = { part: 'reviews', prefix: 'review#', sortKeyPrefix: 'review' };
const reports: WalkedPart = { part: 'reports', prefix: 'review#', sortKeyPrefix: 'report#' };

const keysOf = (prefix: string, sk: string, count: number): Key[] =>
  Array.from({ length: count }, (_, index) => ({ pk: `${prefix}${index}`, sk }));

describeWithEngine('dynamodb', 'a walk over a table', () => {
  let table: Awaited<ReturnType<typeof freshDynamoTable>>;
  let scans: number;
  let segments: Set<string>;
  beforeAll(async () => {
    table = await freshDynamoTable();
    const items = [
      ...keysOf('l#', '-', 60),
      ...keysOf('review#', 'review', 3),
      ...keysOf('review#', 'report#somebody', 2),
      ...keysOf('other#', '-', 5),
    ];
    await table.dynamo.batchWrite(items.map(put => ({ put })));
  });
  afterAll(() => table.dispose());
  beforeEach(() => {
    scans = 0;
    segments = new Set();
  });

  function walkHere(options: TableWalkOptions = {}): TableWalk {
    const scan: typeof table.dynamo.scan = given => {
      scans += 1;
      segments.add(`${given.segment?.index} of ${given.segment?.of}`);
      return table.dynamo.scan(given);
    };
    const itemCount = () => table.dynamo.itemCount();
    const walk = new TableWalk({ scan, itemCount }, { strideMin: 16, ...options });
    walk.addRare(reviews);
    walk.addRare(reports);
    return walk;
  }

  type Way = 'gatheringPage' | 'rarePage';
  async function walked(walk: TableWalk, way: Way, part: WalkedPart, start?: string): Promise<string[]> {
    const found: string[] = [];
    let cursor = start;
    do {
      const { items, next } = await walk[way]<Key>(part, cursor, 1);
      found.push(...items.map(({ pk, sk }) => `${pk} ${sk}`));
      cursor = next;
    } while (cursor !== undefined);
    return found.sort();
  }
  const named = (keys: readonly Key[]): string[] => keys.map(({ pk, sk }) => `${pk} ${sk}`).sort();

  test('over the links keeps what is rare, each for one walk of its own', async () => {
    const walk = walkHere();
    expect(await walked(walk, 'gatheringPage', links)).toEqual(named(keysOf('l#', '-', 60)));
    expect(scans).toBeGreaterThan(3);
    scans = 0;
    expect(await walked(walk, 'rarePage', reviews)).toEqual(named(keysOf('review#', 'review', 3)));
    expect(await walked(walk, 'rarePage', reports)).toEqual(named(keysOf('review#', 'report#somebody', 2)));
    expect(scans).toBe(0);
    expect(await walked(walk, 'rarePage', reviews)).toEqual(named(keysOf('review#', 'review', 3)));
    expect(scans).toBeGreaterThan(3);
  });

  test('takes it segment by segment, as many as it has items for, and misses nothing', async () => {
    const walk = walkHere({ segmentItems: 10 });
    expect(await walked(walk, 'gatheringPage', links)).toEqual(named(keysOf('l#', '-', 60)));
    expect([...segments]).toEqual(Array.from({ length: 7 }, (_, index) => `${index} of 7`));
    expect(await walked(walk, 'rarePage', reviews)).toHaveLength(3);
    segments.clear();
    expect(await walked(walkHere({ segmentItems: 70 }), 'gatheringPage', links)).toHaveLength(60);
    expect([...segments]).toEqual(['0 of 1']);
  });

  test('goes on where it was, in the segments that it began with', async () => {
    const { items, next } = await walkHere({ segmentItems: 10 }).gatheringPage<Key>(links, undefined, 1);
    const later = await walked(walkHere({ segmentItems: 35 }), 'gatheringPage', links, next);
    expect([...named(items), ...later].sort()).toEqual(named(keysOf('l#', '-', 60)));
    expect([...segments].every(segment => segment.endsWith(' of 7'))).toBeTrue();
  });

  test('that began in the middle, or did not end, keeps nothing', async () => {
    const walk = walkHere();
    const { next } = await walk.gatheringPage<Key>(links, undefined, 1);
    expect(await walked(walk, 'rarePage', reviews)).toHaveLength(3);
    const taker = walkHere();
    await walked(taker, 'gatheringPage', links, next);
    scans = 0;
    expect(await walked(taker, 'rarePage', reviews)).toHaveLength(3);
    expect(scans).toBeGreaterThan(3);
  });

  test('that starts over discards what an earlier one kept', async () => {
    const walk = walkHere();
    await walked(walk, 'gatheringPage', links);
    await walk.gatheringPage<Key>(links, undefined, 1);
    scans = 0;
    expect(await walked(walk, 'rarePage', reviews)).toHaveLength(3);
    expect(scans).toBeGreaterThan(3);
  });

  test('that meets more than is rare keeps nothing, and misses nothing', async () => {
    const walk = walkHere({ keptMax: 4 });
    expect(await walked(walk, 'gatheringPage', links)).toHaveLength(60);
    scans = 0;
    expect(await walked(walk, 'rarePage', reviews)).toHaveLength(3);
    expect(await walked(walk, 'rarePage', reports)).toHaveLength(2);
    expect(scans).toBeGreaterThan(6);
  });
});
