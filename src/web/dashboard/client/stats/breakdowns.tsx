/** The origin of clicks: sources, countries with the map, cities, languages, devices, browsers, systems, campaigns. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type DimensionList, dimensions } from '../../../../clicks/dimensions.ts';
import { texts } from '../../texts.ts';
import type { WorldMap as WorldMapData } from '../../world-map.ts';
import type { Stats, ValueCount } from '../api/types.ts';
import { countryName, formatCompact, formatNumber, formatPercent, languageName } from '../format.ts';
import { mapPath } from '../site.ts';
import { linkIndex } from '../state/links.ts';
import { hrefOf } from '../state/router.ts';
import { useStore } from '../state/store.ts';
import { Segments } from '../ui/field.tsx';
import { Skeleton } from '../ui/page.tsx';

const sum = (values: readonly ValueCount[]): number =>
  values.reduce((total, { clicks }) => total + clicks, 0);

const rowsOf = (values: readonly ValueCount[], labelOf: (value: string) => string): BarRow[] =>
  values.map(({ value, clicks }) => ({ key: value, label: <bdi>{labelOf(value)}</bdi>, count: clicks }));

/** The lists cover the range exactly; only days that an earlier version counted can have more than it. */
const wholeOf = (stats: Stats, values: readonly ValueCount[]): number =>
  Math.max(stats.range.clicks, sum(values));

export function Breakdowns({ stats }: { readonly stats: Stats }) {
  const countries = rowsOf(stats.topCountries, value => countryName(value) ?? texts.stats.unknown);
  return (
    <div class="breakdowns">
      <section class="card" aria-label={texts.stats.sources}>
        <h2>{texts.stats.sources}</h2>
        <BarList
          rows={rowsOf(stats.topReferrers, value => (value === '' ? texts.stats.direct : value))}
          total={wholeOf(stats, stats.topReferrers)}
        />
      </section>
      <ListsCard label={texts.stats.technology} lists={['devices', 'browsers', 'os']} stats={stats} />
      <section class="card card-wide" aria-label={texts.stats.countries}>
        <h2>{texts.stats.countries}</h2>
        <div class="map-and-list">
          <WorldMap countries={stats.topCountries} />
          <BarList rows={countries} total={wholeOf(stats, stats.topCountries)} />
        </div>
      </section>
      <ListsCard lists={['topCities']} stats={stats} />
      <ListsCard lists={['languages']} stats={stats} />
      <ListsCard lists={['utmCampaigns', 'utmSources', 'utmMediums']} stats={stats} isWide />
    </div>
  );
}

const headingOf = (list: DimensionList): string => dimensions.find(each => each.list === list)!.label;
const shortHeadingOf = (list: DimensionList): string => {
  const dimension = dimensions.find(each => each.list === list)!;
  return 'shortLabel' in dimension ? dimension.shortLabel : dimension.label;
};

function labelIn(list: DimensionList, value: string): string {
  if (value === '') return texts.stats.unknown;
  if (list === 'devices') return texts.stats.deviceNames[value] ?? value;
  return list === 'languages' ? languageName(value) : value;
}

/** Most clicks are of no campaign, which is no news. */
const isListed = (list: DimensionList, { value }: ValueCount): boolean =>
  value !== '' || !list.startsWith('utm');

interface ListsCardProps {
  readonly stats: Stats;
  /** More than one share the card. */
  readonly lists: readonly [DimensionList, ...DimensionList[]];
  /** The heading of the first list by default. */
  readonly label?: string;
  readonly isWide?: boolean;
}

function ListsCard({ stats, lists, label = headingOf(lists[0]), isWide = false }: ListsCardProps) {
  const [list, setList] = useState<DimensionList>(lists[0]);
  const values = stats[list] ?? [];
  const shown = values.filter(value => isListed(list, value));
  return (
    <section class={isWide ? 'card card-wide' : 'card'} aria-label={label}>
      <header class="card-header">
        <h2>{headingOf(list)}</h2>
        {lists.length > 1 && (
          <Segments
            label={label}
            value={list}
            choices={lists.map(value => ({ value, label: shortHeadingOf(value) }))}
            onValue={setList}
          />
        )}
      </header>
      <BarList rows={rowsOf(shown, value => labelIn(list, value))} total={wholeOf(stats, values)} />
    </section>
  );
}

export function TopLinks({ stats }: { readonly stats: Stats }) {
  const { links } = useStore(linkIndex);
  const values = stats.topLinks ?? [];
  const titles = new Map(links.map(({ shortCode, title }) => [shortCode, title]));
  const rows = values.map(({ value, clicks }) => ({
    key: value,
    count: clicks,
    href: hrefOf(`/links/${value}`),
    label: (
      <>
        <strong>{value}</strong> <bdi class="quiet">{titles.get(value) ?? ''}</bdi>
      </>
    ),
  }));
  return (
    <section class="card card-wide" aria-label={texts.stats.topLinks}>
      <h2>{texts.stats.topLinks}</h2>
      <BarList rows={rows} total={stats.range.clicks} />
    </section>
  );
}

interface BarRow {
  readonly key: string;
  readonly label: ComponentChildren;
  readonly count: number;
  readonly href?: string;
}

const shownMax = 9;

/** The most frequent values, each with a bar behind it: a chart that is also a list. */
function BarList({ rows, total }: { readonly rows: readonly BarRow[]; readonly total: number }) {
  if (rows.length === 0) return <p class="quiet bar-none">{texts.stats.none}</p>;
  const most = Math.max(1, ...rows.map(({ count }) => count));
  return (
    <ol class="bar-list">
      {rows.slice(0, shownMax).map(({ key, label, count, href }) => (
        <li key={key} title={formatNumber(count)}>
          <span class="bar-behind" style={{ width: `${(count / most) * 100}%` }} />
          {href === undefined ? (
            <span class="bar-label">{label}</span>
          ) : (
            <a class="bar-label" href={href}>
              {label}
            </a>
          )}
          <span class="bar-share">{formatPercent(total === 0 ? 0 : count / total)}</span>
          <span class="bar-count">{formatCompact(count)}</span>
        </li>
      ))}
    </ol>
  );
}

const shades = 5;
let reading: Promise<WorldMapData> | undefined;

/** The origin of clicks, as a map. The list beside it has the same content as text, so the map itself is a picture. */
function WorldMap({ countries }: { readonly countries: readonly ValueCount[] }) {
  const [map, setMap] = useState<WorldMapData>();
  const [pointed, setPointed] = useState<{ country: string; x: number; y: number }>();
  useEffect(() => {
    reading ??= fetch(mapPath).then(response => response.json() as Promise<WorldMapData>);
    reading.then(setMap, () => {
      reading = undefined;
    });
  }, []);
  if (map === undefined) return <Skeleton lines={1} />;

  const clicks = new Map(countries.map(({ value, clicks }) => [value, clicks]));
  const most = Math.max(1, ...clicks.values());
  // Scaled by the square root, so that a country with a tenth of the clicks is still visible.
  const shadeOf = (country: string): number =>
    clicks.has(country) ? Math.max(1, Math.ceil(Math.sqrt(clicks.get(country)! / most) * shades)) : 0;
  const point = (event: PointerEvent): void => {
    const country = (event.target as Element).getAttribute('data-country') ?? '';
    const box = (event.currentTarget as Element).getBoundingClientRect();
    setPointed(
      country === '' ? undefined : { country, x: event.clientX - box.left, y: event.clientY - box.top },
    );
  };
  return (
    <div class="map" onPointerMove={point} onPointerLeave={() => setPointed(undefined)}>
      <svg viewBox={`0 0 ${map.width} ${map.height}`} role="img" aria-label={texts.stats.map}>
        {map.shapes.map(([country, outline]) => (
          <path key={outline} d={outline} data-country={country} class={`land shade-${shadeOf(country)}`} />
        ))}
        {map.dots
          .filter(([country]) => clicks.has(country))
          .map(([country, x, y]) => (
            <circle
              key={country}
              cx={x}
              cy={y}
              r={3.5}
              data-country={country}
              class={`land shade-${shadeOf(country)}`}
            />
          ))}
      </svg>
      {pointed !== undefined && (
        <span class="map-note" style={{ left: `${pointed.x}px`, top: `${pointed.y}px` }}>
          {countryName(pointed.country)} <strong>{formatNumber(clicks.get(pointed.country) ?? 0)}</strong>
        </span>
      )}
    </div>
  );
}
