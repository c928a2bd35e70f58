/** All values of a dimension: searchable, in pages, and each a filter. */
import { useEffect, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import type { DimensionName } from '../../../../clicks/dimensions.ts';
import { texts } from '../../texts.ts';
import { readValues } from '../api/calls.ts';
import { formatIn } from '../format.ts';
import { usePages } from '../state/connection.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ProblemNotice } from '../ui/field.tsx';
import { MorePages, Skeleton } from '../ui/page.tsx';
import { BarList, headingOf, isCampaign, isNamedHere, togglerOf, valueName } from './filter-chips.tsx';
import { filterQuery, isFiltered, type ViewFilter } from './filters.ts';
import type { StatsChoice } from './use-stats.ts';

interface ValuesDialogProps {
  readonly choice: StatsChoice;
  readonly filters: readonly ViewFilter[];
  readonly dimension: DimensionName;
  readonly onClose: () => void;
}

const pageLimit = 100;
/** All of them, where names are searched here. */
const namedLimit = 1_000;
const typingMs = 200;

export function ValuesDialog({ choice, filters, dimension, onClose }: ValuesDialogProps) {
  const [search, setSearch] = useState('');
  const pages = useValues(choice, filters, dimension, search);
  const { value: page, problem, isCurrent } = pages;
  const wanted = search.trim().toLowerCase();
  const shown = (page?.values ?? []).filter(
    ({ value }) =>
      (value !== '' || !isCampaign(dimension)) &&
      (!isNamedHere(dimension) || valueName(dimension, value).toLowerCase().includes(wanted)),
  );
  const total = page === undefined ? 0 : page.nextCursor === null ? shown.length : page.total;
  return (
    <Dialog
      title={headingOf(dimension)}
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          {texts.stats.done}
        </Button>
      }
    >
      <div class="values-head">
        <input
          class="input"
          type="search"
          data-autofocus
          aria-label={texts.stats.search}
          placeholder={texts.stats.search}
          value={search}
          onInput={event => setSearch(event.currentTarget.value)}
        />
        <p class="quiet" role="status">
          {page !== undefined && texts.stats.valuesTotal(total)}
        </p>
      </div>
      {filters.some(filter => filter.dimension === dimension) && (
        <p class="quiet">{texts.stats.ownFilterLeftOut}</p>
      )}
      <ProblemNotice problem={problem} />
      {page === undefined && problem === undefined && <Skeleton lines={8} />}
      {page !== undefined && shown.length === 0 && <p class="quiet bar-none">{texts.stats.noMatch}</p>}
      {shown.length > 0 && (
        <div data-stale={!isCurrent}>
          <BarList
            rows={shown.map(({ value, clicks }) => ({
              key: value,
              label: <bdi>{valueName(dimension, value)}</bdi>,
              count: clicks,
              isFiltered: isFiltered(filters, dimension, value),
              onToggle: togglerOf(filters, dimension, value),
            }))}
          />
        </div>
      )}
      {page?.coveredFrom != null && (
        <p class="quiet">{texts.stats.coveredFrom(formatIn('moment', page.coveredFrom, choice.timeZone))}</p>
      )}
      <MorePages pages={pages} label={texts.stats.more} />
    </Dialog>
  );
}

/** Keeps the range that the dialog was opened with, because a list must not move while it is read. */
function useValues(
  { of, range: current, timeZone }: StatsChoice,
  filters: readonly ViewFilter[],
  dimension: DimensionName,
  search: string,
) {
  const [range] = useState(current);
  const [asked, setAsked] = useState('');
  useEffect(() => browserClock.after(typingMs, () => setAsked(search.trim())), [search]);
  const query = {
    from: new Date(range.fromMs).toISOString(),
    to: new Date(range.toMs).toISOString(),
    interval: range.interval,
    timeZone,
    // Without its own filter, so that further values can be chosen.
    ...filterQuery(filters.filter(filter => filter.dimension !== dimension)),
    limit: isNamedHere(dimension) ? namedLimit : pageLimit,
    search: isNamedHere(dimension) ? '' : asked,
  };
  return usePages(
    JSON.stringify(query),
    (cursor, signal) => readValues(of, dimension, { ...query, cursor }, signal),
    (before, next) => {
      // Clicks are counted meanwhile, so a value may come again.
      const known = new Set(before.values.map(({ value }) => value));
      return { ...next, values: [...before.values, ...next.values.filter(({ value }) => !known.has(value))] };
    },
  );
}
