/** The filters of the page, each of which can be removed. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { DimensionName } from '../../../../clicks/dimensions.ts';
import { texts } from '../../texts.ts';
import { isStranger } from '../api/request.ts';
import { setQuery } from '../state/router.ts';
import { Button, Icon } from '../ui/button.tsx';
import { toggled, type ViewFilter } from './filters.ts';
import { valueName } from './value-names.ts';

function filterName({ dimension, values, isExcluded }: ViewFilter): string {
  const names = values.map(value => valueName(dimension, value)).join(texts.stats.filterOr);
  const title = texts.stats.dimensionNames[dimension];
  return isExcluded ? texts.stats.filterIsNot(title, names) : texts.stats.filterIs(title, names);
}

/** Adds a value to the filters, or takes it away; Back undoes it. Undefined for those who may not filter. */
export const togglerOf = (
  filters: readonly ViewFilter[],
  dimension: DimensionName,
  value: string,
): (() => void) | undefined =>
  isStranger() ? undefined : () => setQuery(toggled(filters, dimension, value), { isStep: true });

export function FilterChips({ filters }: { readonly filters: readonly ViewFilter[] }) {
  const section = useRef<HTMLElement>(null);
  const removedAt = useRef<number | undefined>(undefined);
  // A button that is gone would leave the keyboard at the top of the page.
  useLayoutEffect(() => {
    if (removedAt.current === undefined) return;
    const chips = [...(section.current?.querySelectorAll<HTMLElement>('.filter-chip') ?? [])];
    const next = chips[removedAt.current] ?? chips.at(-1);
    (next ?? document.querySelector<HTMLElement>('.stats-toolbar button'))?.focus();
    removedAt.current = undefined;
  }, [filters]);
  if (filters.length === 0) return null;
  const remove = (gone: readonly ViewFilter[], at = 0): void => {
    removedAt.current = at;
    setQuery(Object.fromEntries(gone.map(({ dimension }) => [dimension, undefined])), { isStep: true });
  };
  return (
    <section ref={section} class="filter-chips" aria-label={texts.stats.filters}>
      {filters.map((filter, at) => {
        const name = filterName(filter);
        return (
          <button
            key={filter.dimension}
            type="button"
            class="filter-chip"
            aria-label={texts.stats.removeFilter(name)}
            title={texts.stats.removeFilter(name)}
            onClick={() => remove([filter], at)}
          >
            <bdi>{name}</bdi>
            <Icon name="close" size={14} />
          </button>
        );
      })}
      {filters.length > 1 && (
        <Button kind="quiet" small onClick={() => remove(filters)}>
          {texts.stats.clearFilters}
        </Button>
      )}
    </section>
  );
}
