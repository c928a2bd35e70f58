/** Filters of the statistics, kept in the address bar in the form in which the API takes them. Pure. */
import { type DimensionName, dimensions, filterIn } from '../../../../clicks/dimensions.ts';

export interface ViewFilter {
  readonly dimension: DimensionName;
  readonly values: readonly string[];
  /** Clicks with none of the values, instead of one. */
  readonly isExcluded: boolean;
}

/** The maximum of values in one filter, and of filters in one request, as in the API. */
const valuesMax = 50;
export const filtersMax = 10;

/** The page of one link ignores filters by link. */
export function filtersIn(query: URLSearchParams, isOfLink: boolean): ViewFilter[] {
  return dimensions
    .filter(({ name, isOfLinks }) => query.has(name) && (isOfLinks || !isOfLink))
    .slice(0, filtersMax)
    .map(({ name }) => {
      const { values, isExcluded } = filterIn(query.get(name)!);
      return { dimension: name, values: values.slice(0, valuesMax), isExcluded };
    });
}

/** Never empty: an empty parameter would be no filter, so one empty value is written as two, with a comma. */
function filterText({ values, isExcluded }: Omit<ViewFilter, 'dimension'>): string {
  const list = values.map(value => value.replace(/[\\,]/g, '\\$&').replace(/^!/, '\\!')).join(',');
  return (isExcluded ? '!' : '') + (list === '' ? ',' : list);
}

/** The parameters for the API. */
export const filterQuery = (filters: readonly ViewFilter[]): Readonly<Record<string, string>> =>
  Object.fromEntries(filters.map(filter => [filter.dimension, filterText(filter)]));

export const isFiltered = (
  filters: readonly ViewFilter[],
  dimension: DimensionName,
  value: string,
): boolean => filters.some(filter => filter.dimension === dimension && filter.values.includes(value));

/** The change of the query that adds a value to the filters or removes it. */
export function toggled(
  filters: readonly ViewFilter[],
  dimension: DimensionName,
  value: string,
): Readonly<Record<string, string | undefined>> {
  const known = filters.find(filter => filter.dimension === dimension);
  const { values, isExcluded }: Omit<ViewFilter, 'dimension'> = known ?? { values: [], isExcluded: false };
  const next = values.includes(value) ? values.filter(each => each !== value) : [...values, value];
  return { [dimension]: next.length === 0 ? undefined : filterText({ values: next, isExcluded }) };
}

/** Whether a single click passes all filters. */
export const meets = (
  click: Readonly<Partial<Record<DimensionName, string>>>,
  filters: readonly ViewFilter[],
): boolean =>
  filters.every(
    ({ dimension, values, isExcluded }) => values.includes(click[dimension] ?? '') !== isExcluded,
  );
