/**
 * The origin of clicks, as a map whose countries are filters: those with clicks can also be reached by keyboard, as one
 * stop in which arrow keys go from country to country.
 */
import { useMemo, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import type { WorldMap as WorldMapData } from '../../world-map.ts';
import { ApiProblem } from '../api/request.ts';
import type { ValueCount } from '../api/types.ts';
import { countryName, formatNumber } from '../format.ts';
import { language } from '../language.ts';
import { mapPath } from '../site.ts';
import { useResource } from '../state/connection.ts';
import { useStore } from '../state/store.ts';
import { Failure, Skeleton } from '../ui/page.tsx';

const shades = 5;
let known: WorldMapData | undefined;

async function readMap(signal: AbortSignal): Promise<WorldMapData> {
  const response = await fetch(mapPath, { signal }).catch(() => undefined);
  if (!response?.ok) throw new ApiProblem(response?.status ?? 0, 'unknown', texts.errors.unknown);
  return response.json();
}

interface WorldMapProps {
  /** The most clicks first. */
  readonly countries: readonly ValueCount[];
  /** The countries in the filter. */
  readonly chosen: readonly string[];
  /** Undefined where there are no filters. */
  readonly onCountry: ((country: string) => void) | undefined;
}

export function WorldMap({ countries, chosen, onCountry }: WorldMapProps) {
  const {
    value: map,
    problem,
    reload,
  } = useResource('map', async signal => {
    known ??= await readMap(signal);
    return known;
  });
  const [pointed, setPointed] = useState<{ country: string; x: number; y: number }>();
  const isFilter = onCountry !== undefined;
  const locale = useStore(language);
  // Hundreds of outlines, which stay as they are while the pointer moves or other numbers are loading.
  const land = useMemo(
    () => map !== undefined && <Land map={map} countries={countries} chosen={chosen} isFilter={isFilter} />,
    [map, countries, chosen.join(), isFilter, locale],
  );
  if (map === undefined && problem !== undefined) return <Failure problem={problem} onRetry={reload} />;
  if (map === undefined) return <Skeleton lines={1} />;

  const point = (event: PointerEvent): void => {
    const country = countryAt(event.target);
    const box = (event.currentTarget as Element).getBoundingClientRect();
    setPointed(
      country === '' ? undefined : { country, x: event.clientX - box.left, y: event.clientY - box.top },
    );
  };
  /** Shows the name as for a pointer, above the middle of the country. */
  const name = (event: FocusEvent): void => {
    const country = countryAt(event.target);
    const box = (event.target as Element).getBoundingClientRect();
    const map = (event.currentTarget as Element).getBoundingClientRect();
    const x = box.left + box.width / 2 - map.left;
    setPointed(country === '' ? undefined : { country, x, y: box.top + box.height / 2 - map.top });
  };
  const choose = (event: Event): void => {
    const country = countryAt(event.target);
    if (country !== '') onCountry?.(country);
  };
  const walk = (event: KeyboardEvent): void => {
    const isChosen = event.key === 'Enter' || event.key === ' ';
    if (isChosen) choose(event);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      const ranks = countries.map(({ value }) => value);
      const stops = [...(event.currentTarget as Element).querySelectorAll<SVGElement>('[tabindex]')].sort(
        (a, b) => ranks.indexOf(countryAt(a)) - ranks.indexOf(countryAt(b)),
      );
      const at = stops.indexOf(event.target as SVGElement);
      stops[(at + step + stops.length) % stops.length]?.focus();
    }
    if (step !== undefined || isChosen) event.preventDefault();
  };
  return (
    <div
      class="map"
      onPointerMove={point}
      onPointerLeave={() => setPointed(undefined)}
      onFocusIn={name}
      onFocusOut={() => setPointed(undefined)}
    >
      <svg
        viewBox={`0 0 ${map.width} ${map.height}`}
        role={isFilter ? 'toolbar' : 'img'}
        aria-label={texts.stats.map}
        onClick={choose}
        onKeyDown={walk}
      >
        {land}
      </svg>
      {pointed !== undefined && (
        <span class="map-note" style={{ left: `${pointed.x}px`, top: `${pointed.y}px` }}>
          {countryName(pointed.country)}{' '}
          <strong>
            {formatNumber(countries.find(({ value }) => value === pointed.country)?.clicks ?? 0)}
          </strong>
        </span>
      )}
    </div>
  );
}

const countryAt = (target: EventTarget | null): string =>
  (target as Element).getAttribute('data-country') ?? '';

interface LandProps extends Pick<WorldMapProps, 'countries' | 'chosen'> {
  readonly map: WorldMapData;
  readonly isFilter: boolean;
}

function Land({ map, countries, chosen, isFilter }: LandProps) {
  const clicks = new Map(countries.map(({ value, clicks }) => [value, clicks]));
  const most = Math.max(1, ...clicks.values());
  // Some clicks have no country, and some countries no shape.
  const drawn = new Set([...map.shapes, ...map.dots].map(([country]) => country));
  const first = [...clicks.keys()].find(country => drawn.has(country));
  const look = (country: string) => {
    const count = clicks.get(country);
    // Scaled by the square root, so that a country with a tenth of the clicks is still visible.
    const shade = count === undefined ? 0 : Math.max(1, Math.ceil(Math.sqrt(count / most) * shades));
    const place = { 'data-country': country, class: `land shade-${shade}` };
    if (count === undefined || !isFilter) return place;
    return {
      ...place,
      role: 'button' as const,
      // In lower case: names of attributes have a case in SVG.
      tabindex: country === first ? 0 : -1,
      'aria-pressed': chosen.includes(country),
      'aria-label': texts.stats.countryClicks(countryName(country) ?? country, count),
    };
  };
  return (
    <>
      {map.shapes.map(([country, outline]) => (
        <path key={outline} d={outline} {...look(country)} />
      ))}
      {map.dots
        .filter(([country]) => clicks.has(country))
        .map(([country, x, y]) => (
          <circle key={country} cx={x} cy={y} r={3.5} {...look(country)} />
        ))}
    </>
  );
}
