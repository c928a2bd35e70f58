/** A question's filters, applied to what chunks and groups have in lists: each entry is looked at once. */
import { visitKinds } from '../../click.ts';
import { dimensionOf } from '../../dimensions.ts';
import type { Filter } from '../../warehouse.ts';
import { fieldsOf, type ListName, listDimensions } from './chunk.ts';

export type CountedList = Exclude<ListName, 'tags'>;

/** Entries that are remembered from chunk to chunk. */
export const entriesMax = 16_384;

export class EntryFilters {
  readonly #filters: readonly Filter[];
  /** Entries repeat from chunk to chunk: whether each passes is worked out once, or once in a while when they are many. */
  readonly #known = new Map<CountedList, Map<string, 0 | 1>>();
  /** By the number of a kind. */
  readonly kinds: readonly boolean[];

  constructor(filters: readonly Filter[]) {
    this.#filters = filters;
    this.kinds = visitKinds.map(kind =>
      filters.every(filter => filter.dimension !== 'bot' || meets(filter, kind === 'human' ? '' : kind)),
    );
  }

  get isEmpty(): boolean {
    return this.#filters.length === 0;
  }

  get areOfLinks(): boolean {
    return this.#filters.some(({ dimension }) => dimension === 'link');
  }

  passesLink(code: string): boolean {
    return this.#filters.every(filter => filter.dimension !== 'link' || meets(filter, code));
  }

  /** Which entries of a list pass; undefined when no filter looks at it. */
  passes(list: CountedList, entries: readonly string[]): Uint8Array | undefined {
    const filters = this.#filters.filter(({ dimension }) => dimensionOf(dimension).of === list);
    if (filters.length === 0) return undefined;
    const known = this.#known.getOrInsertComputed(list, () => new Map());
    if (known.size > entriesMax) known.clear();
    const passes = new Uint8Array(entries.length);
    for (let place = 0; place < entries.length; place += 1) {
      let isPassing = known.get(entries[place]!);
      if (isPassing === undefined) {
        isPassing = isWanted(entries[place]!, list, filters) ? 1 : 0;
        known.set(entries[place]!, isPassing);
      }
      passes[place] = isPassing;
    }
    return passes;
  }
}

const meets = ({ values, isExcluded }: Filter, value: string): boolean =>
  values.includes(value) !== isExcluded;

function isWanted(entry: string, list: CountedList, filters: readonly Filter[]): boolean {
  const fields = fieldsOf(entry);
  return filters.every(filter =>
    meets(filter, fields[listDimensions[list].findIndex(({ name }) => name === filter.dimension)] ?? ''),
  );
}
