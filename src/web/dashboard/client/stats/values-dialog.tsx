/** All values of a dimension: searchable, in pages, and each a filter. */
import { useEffect, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import type { DimensionName } from '../../../../clicks/dimensions.ts';
import { texts } from '../../texts.ts';
import { readValues } from '../api/calls.ts';
import { isAbort, messageOf } from '../api/request.ts';
import type { ValuePage } from '../api/types.ts';
import { formatIn, formatNumber } from '../format.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Skeleton } from '../ui/page.tsx';
import { BarList } from './bar-list.tsx';
import { togglerOf } from './filter-chips.tsx';
import { filterQuery, isFiltered, type ViewFilter } from './filters.ts';
import type { StatsChoice } from './use-stats.ts';
import { headingOf, isCampaign, isNamedHere, valueName } from './value-names.ts';

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
  const { page, problem, more } = useValues(choice, filters, dimension, search);
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
          {page !== undefined && texts.stats.valuesTotal(total, formatNumber(total))}
        </p>
      </div>
      {filters.some(filter => filter.dimension === dimension) && (
        <p class="quiet">{texts.stats.ownFilterLeftOut}</p>
      )}
      {problem !== undefined && (
        <p class="notice" role="alert">
          {messageOf(problem)}
        </p>
      )}
      {page === undefined && problem === undefined && <Skeleton lines={8} />}
      {page !== undefined && shown.length === 0 && <p class="quiet bar-none">{texts.stats.noMatch}</p>}
      {shown.length > 0 && (
        <BarList
          rows={shown.map(({ value, clicks }) => ({
            key: value,
            label: <bdi>{valueName(dimension, value)}</bdi>,
            count: clicks,
            isFiltered: isFiltered(filters, dimension, value),
            onToggle: togglerOf(filters, dimension, value),
          }))}
        />
      )}
      {page?.coveredFrom != null && (
        <p class="quiet">{texts.stats.coveredFrom(formatIn('moment', page.coveredFrom, choice.timeZone))}</p>
      )}
      {page !== undefined && page.nextCursor !== null && <Button onClick={more}>{texts.stats.more}</Button>}
    </Dialog>
  );
}

/** Values so far; a new search begins at the first page. */
function useValues(
  { of, range, timeZone }: StatsChoice,
  filters: readonly ViewFilter[],
  dimension: DimensionName,
  search: string,
) {
  const [page, setPage] = useState<ValuePage>();
  const [problem, setProblem] = useState<unknown>();
  // Without its own filter, so that further values can be chosen.
  const others = filterQuery(filters.filter(filter => filter.dimension !== dimension));
  const query = {
    from: new Date(range.fromMs).toISOString(),
    to: new Date(range.toMs).toISOString(),
    interval: range.interval,
    timeZone,
    ...others,
    limit: isNamedHere(dimension) ? namedLimit : pageLimit,
    search: isNamedHere(dimension) ? '' : search.trim(),
  };
  const key = JSON.stringify(query);
  useEffect(() => {
    const abort = new AbortController();
    const load = (): void => {
      readValues(of, dimension, query, abort.signal).then(
        found => {
          setPage(found);
          setProblem(undefined);
        },
        error => {
          if (!isAbort(error)) setProblem(error);
        },
      );
    };
    const cancel = browserClock.after(page === undefined ? 0 : typingMs, load);
    return () => {
      cancel();
      abort.abort();
    };
  }, [key]);
  const more = (): void => {
    if (page === undefined || page.nextCursor === null) return;
    readValues(of, dimension, { ...query, cursor: page.nextCursor }).then(next => {
      // Clicks are counted meanwhile, so a value may come again.
      const known = new Set(page.values.map(({ value }) => value));
      const fresh = next.values.filter(({ value }) => !known.has(value));
      setPage({ ...next, values: [...page.values, ...fresh] });
    }, setProblem);
  };
  return { page, problem, more };
}
