/** The filters of a page, as chips that can be removed, and lists whose rows are filters, with a bar behind each. */

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { type DimensionName, dimensionOf } from '../../../../clicks/dimensions.ts';
import { texts } from '../../texts.ts';
import { isStranger } from '../api/request.ts';
import { countryName, formatCompact, formatNumber, formatPercent, languageName } from '../format.ts';
import { setQuery } from '../state/router.ts';
import { Button, Icon } from '../ui/button.tsx';
import { showToast } from '../ui/toast.tsx';
import { filtersMax, toggled, type ViewFilter } from './filters.ts';

function filterName({ dimension, values, isExcluded }: ViewFilter): string {
  const names = values.map(value => valueName(dimension, value)).join(texts.stats.filterOr);
  const title = texts.stats.dimensionNames[dimension];
  return isExcluded ? texts.stats.filterIsNot(title, names) : texts.stats.filterIs(title, names);
}

/** Adds a value to the filters or removes it; Back undoes that. Undefined for viewers who may not filter. */
export const togglerOf = (
  filters: readonly ViewFilter[],
  dimension: DimensionName,
  value: string,
): (() => void) | undefined =>
  isStranger()
    ? undefined
    : () => {
        const isNew = !filters.some(filter => filter.dimension === dimension);
        if (isNew && filters.length >= filtersMax) showToast(texts.stats.filtersMax, { isProblem: true });
        else setQuery(toggled(filters, dimension, value), { isStep: true });
      };

export function FilterChips({ filters }: { readonly filters: readonly ViewFilter[] }) {
  const section = useRef<HTMLElement>(null);
  const removedAt = useRef<number | undefined>(undefined);
  // Otherwise the keyboard focus would return to the top of the page with the removed button.
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

export function valueName(dimension: DimensionName, value: string): string {
  switch (dimension) {
    case 'country':
      return countryName(value) ?? texts.stats.unknown;
    case 'language':
      return value === '' ? texts.stats.unknown : languageName(value);
    case 'device':
      return texts.stats.deviceNames[value] ?? value;
    case 'via':
      return texts.stats.viaNames[value] ?? value;
    case 'bot':
      return texts.stats.botNames[value] ?? value;
    case 'referrer':
    case 'referrerUrl':
      return value === '' ? texts.stats.direct : value;
  }
  if (value !== '') return value;
  return isCampaign(dimension) ? texts.stats.noCampaign : texts.stats.unknown;
}

export const isCampaign = (dimension: DimensionName): boolean => dimension.startsWith('utm');

export function headingOf(dimension: DimensionName): string {
  const { list, label } = dimensionOf(dimension);
  return texts.stats.listHeadings[list] ?? label;
}

/** For lists that share a card. */
export function shortHeadingOf(dimension: DimensionName): string {
  const row = dimensionOf(dimension);
  return texts.stats.listHeadings[row.list] ?? ('shortLabel' in row ? row.shortLabel : row.label);
}

/** The server does not know the shown names of these dimensions, so their few values are searched here. */
export const isNamedHere = (dimension: DimensionName): boolean =>
  ['country', 'language', 'device', 'via', 'bot'].includes(dimension);

export interface BarRow {
  readonly key: string;
  readonly label: ComponentChildren;
  readonly count: number;
  readonly isFiltered: boolean;
  /** Undefined where there are no filters. */
  readonly onToggle: (() => void) | undefined;
  /** A page about the value. */
  readonly href?: string;
}

interface BarListProps {
  readonly rows: readonly BarRow[];
  /** The total that shares refer to; undefined to show none. */
  readonly total?: number;
}

export function BarList({ rows, total }: BarListProps) {
  if (rows.length === 0) return <p class="quiet bar-none">{texts.stats.none}</p>;
  const most = Math.max(1, ...rows.map(({ count }) => count));
  return (
    <ol class="bar-list">
      {rows.map(({ key, label, count, isFiltered, onToggle, href }) => (
        <li key={key}>
          <Row value={key} count={count} isFiltered={isFiltered} onToggle={onToggle}>
            <span class="bar-behind" style={{ width: `${(count / most) * 100}%` }} />
            <span class="bar-label">{label}</span>
            {total !== undefined && (
              <span class="bar-share">{formatPercent(total === 0 ? 0 : count / total)}</span>
            )}
            <span class="bar-count">{formatCompact(count)}</span>
          </Row>
          {href !== undefined && (
            <a
              class="bar-open"
              href={href}
              aria-label={texts.stats.openLink(key)}
              title={texts.stats.openLink(key)}
            >
              <Icon name="right" size={16} />
            </a>
          )}
        </li>
      ))}
    </ol>
  );
}

interface RowProps extends Pick<BarRow, 'count' | 'isFiltered' | 'onToggle'> {
  readonly value: string;
  readonly children: ComponentChildren;
}

function Row({ value, count, isFiltered, onToggle, children }: RowProps) {
  const shared = { class: 'bar-row', 'data-value': value, 'data-clicks': count, title: formatNumber(count) };
  if (onToggle === undefined) return <div {...shared}>{children}</div>;
  return (
    <button type="button" {...shared} aria-pressed={isFiltered} onClick={onToggle}>
      {children}
    </button>
  );
}
