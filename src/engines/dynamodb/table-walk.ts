/**
 * One walk over the whole table for several parts of an installation. There is no order to walk a part's items in but
 * the table's own, so each walk reads everything, and is paid for it: what lies among the links and is rare is kept
 * aside when links are walked, and its own walk, which comes next, reads nothing. The table is walked segment by
 * segment: an engine that looks for where a page begins, as DynamoDB Local does, then looks through one of them and not
 * through everything that lies before.
 *
 * Invariant: what was kept aside is used once, and only if it was gathered from the first page to the last.
 */
import type { Dynamo } from './dynamodb.ts';
import type { Condition, Key } from './expressions.ts';
import type { StartKey } from './queries.ts';

export interface WalkedPart {
  readonly part: string;
  /** How the partition keys of the part's items begin. */
  readonly prefix: string;
  /** What part of the items under the prefix it is, where it shares them. */
  readonly sortKeyPrefix?: string;
}

export interface WalkedPage<Row> {
  readonly items: readonly Row[];
  /** Where the next page begins. */
  readonly next: string | undefined;
}

export interface TableWalkOptions {
  /** More of them are not rare, and are walked for themselves. */
  readonly keptMax?: number;
  /** Items that a page passes over, however many of them are the part's. */
  readonly strideMin?: number;
  /** About how many items a segment has, by the engine's own account. */
  readonly segmentItems?: number;
}

/** How far a walk has come. */
interface Place {
  readonly segment: number;
  /** In how many segments this walk takes the table. */
  readonly of: number;
  readonly start?: StartKey;
}

const keptDefault = 100_000;
/**
 * The engine stops at a megabyte by itself, which is about as many: fewer would only mean more calls, for it is paid by
 * what it reads.
 */
const strideDefault = 5_000;
/** A few pages: each segment costs a call of its own, even one that is empty. */
const segmentItemsDefault = 10_000;
/** The engine's. */
const segmentsMax = 1_000_000;

export class TableWalk {
  readonly #dynamo: Pick<Dynamo, 'scan' | 'itemCount'>;
  readonly #keptMax: number;
  readonly #strideMin: number;
  readonly #segmentItems: number;
  readonly #rare: WalkedPart[] = [];
  /** What the walk under way has met of the rare parts; it goes on at `next`. */
  #gathering: { readonly rows: Key[]; readonly next: string } | undefined;
  readonly #kept = new Map<string, readonly Key[]>();

  constructor(dynamo: Pick<Dynamo, 'scan' | 'itemCount'>, options: TableWalkOptions = {}) {
    this.#dynamo = dynamo;
    this.#keptMax = options.keptMax ?? keptDefault;
    this.#strideMin = options.strideMin ?? strideDefault;
    this.#segmentItems = options.segmentItems ?? segmentItemsDefault;
  }

  /** From now on the walk that gathers rare parts keeps its items aside. */
  addRare(part: WalkedPart): void {
    this.#rare.push(part);
  }

  /** A page of a rare part: all of it when the table was just walked. */
  async rarePage<Row extends Key>(
    part: WalkedPart,
    cursor: string | undefined,
    limit: number,
  ): Promise<WalkedPage<Row>> {
    const kept = cursor === undefined ? this.#kept.get(part.part) : undefined;
    if (kept === undefined) return this.#scan<Row>([part], cursor, limit);
    this.#kept.delete(part.part);
    return { items: kept as readonly Row[], next: undefined };
  }

  /** A page of the part that fills the table, gathering what is rare. */
  async gatheringPage<Row extends Key>(
    part: WalkedPart,
    cursor: string | undefined,
    limit: number,
  ): Promise<WalkedPage<Row>> {
    if (cursor === undefined) this.#kept.clear();
    const before = cursor === undefined ? [] : this.#gathered(cursor);
    if (before === undefined) return this.#scan<Row>([part], cursor, limit);
    const { items, next } = await this.#scan<Row>([part, ...this.#rare], cursor, limit);
    this.#gather([...before, ...items.filter(item => !isOf(part, item))], next);
    return { items: items.filter(item => isOf(part, item)), next };
  }

  #gather(rows: Key[], next: string | undefined): void {
    const areRare = rows.length <= this.#keptMax;
    this.#gathering = next !== undefined && areRare ? { rows, next } : undefined;
    if (next !== undefined || !areRare) return;
    for (const rare of this.#rare) {
      this.#kept.set(
        rare.part,
        rows.filter(row => isOf(rare, row)),
      );
    }
  }

  #gathered(cursor: string): Key[] | undefined {
    return this.#gathering?.next === cursor ? this.#gathering.rows : undefined;
  }

  async #scan<Row>(
    parts: readonly WalkedPart[],
    cursor: string | undefined,
    limit: number,
  ): Promise<WalkedPage<Row>> {
    const place = cursor === undefined ? await this.#firstPlace() : (JSON.parse(cursor) as Place);
    const { items, next } = await this.#dynamo.scan<Row>({
      segment: { index: place.segment, of: place.of },
      start: place.start,
      limit: Math.max(limit, this.#strideMin),
      filter: filterOf(parts),
    });
    const nextPlace = placeAfter(place, next);
    return { items, next: nextPlace && JSON.stringify(nextPlace) };
  }

  async #firstPlace(): Promise<Place> {
    const segments = Math.ceil((await this.#dynamo.itemCount()) / this.#segmentItems);
    return { segment: 0, of: Math.min(segmentsMax, Math.max(1, segments)) };
  }
}

function placeAfter({ segment, of }: Place, start: StartKey | undefined): Place | undefined {
  if (start !== undefined) return { segment, of, start };
  return segment + 1 < of ? { segment: segment + 1, of } : undefined;
}

const isOf = ({ prefix, sortKeyPrefix = '' }: WalkedPart, { pk, sk }: Key): boolean =>
  pk.startsWith(prefix) && sk.startsWith(sortKeyPrefix);

function filterOf(parts: readonly WalkedPart[]): Condition {
  const values: Record<string, string> = {};
  const alternatives = parts.map(({ prefix, sortKeyPrefix }, index) => {
    values[`pk${index}`] = prefix;
    if (sortKeyPrefix === undefined) return `begins_with(#pk, :pk${index})`;
    values[`sk${index}`] = sortKeyPrefix;
    return `(begins_with(#pk, :pk${index}) AND begins_with(#sk, :sk${index}))`;
  });
  return { expression: alternatives.join(' OR '), values };
}
