/**
 * The origin of clicks, as a map whose countries are filters: those with clicks can also be reached by keyboard, as one
 * stop in which arrow keys go from country to country.
 */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import type { WorldMap as WorldMapData } from '../../world-map.ts';
import { ApiProblem } from '../api/request.ts';
import type { ValueCount } from '../api/types.ts';
import { countryName, formatNumber } from '../format.ts';
import { mapPath } from '../site.ts';
import { useResource } from '../state/connection.ts';
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
  /** Those that are filtered by. */
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
  if (map === undefined && problem !== undefined) return <Failure problem={problem} onRetry={reload} />;
  if (map === undefined) return <Skeleton lines={1} />;

  const clicks = new Map(countries.map(({ value, clicks }) => [value, clicks]));
  const most = Math.max(1, ...clicks.values());
  // Scaled by the square root, so that a country with a tenth of the clicks is still visible.
  const shadeOf = (country: string): number =>
    clicks.has(country) ? Math.max(1, Math.ceil(Math.sqrt(clicks.get(country)! / most) * shades)) : 0;
  const countryAt = (event: Event): string => (event.target as Element).getAttribute('data-country') ?? '';
  const point = (event: PointerEvent): void => {
    const country = countryAt(event);
    const box = (event.currentTarget as Element).getBoundingClientRect();
    setPointed(
      country === '' ? undefined : { country, x: event.clientX - box.left, y: event.clientY - box.top },
    );
  };
  const choose = (event: Event): void => {
    const country = countryAt(event);
    if (country !== '') onCountry?.(country);
  };
  const walk = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' || event.key === ' ') choose(event);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      const stops = [...(event.currentTarget as Element).querySelectorAll<SVGElement>('[tabindex]')].sort(
        (a, b) => rankOf(a) - rankOf(b),
      );
      const at = stops.indexOf(event.target as SVGElement);
      stops[(at + step + stops.length) % stops.length]?.focus();
    }
    if (step !== undefined || event.key === 'Enter' || event.key === ' ') event.preventDefault();
  };
  const ranks = [...clicks.keys()];
  const rankOf = (element: Element): number => ranks.indexOf(element.getAttribute('data-country') ?? '');
  // Some clicks have no country, and some countries no shape.
  const drawn = new Set([...map.shapes, ...map.dots].map(([country]) => country));
  const first = ranks.find(country => drawn.has(country));
  const stopOf = (country: string) =>
    clicks.has(country) && onCountry !== undefined
      ? {
          role: 'button' as const,
          // In lower case: names of attributes have a case in SVG.
          tabindex: country === first ? 0 : -1,
          'aria-pressed': chosen.includes(country),
          'aria-label': texts.stats.countryClicks(countryName(country) ?? country, clicks.get(country)!),
        }
      : {};
  return (
    <div class="map" onPointerMove={point} onPointerLeave={() => setPointed(undefined)}>
      <svg
        viewBox={`0 0 ${map.width} ${map.height}`}
        role={onCountry === undefined ? 'img' : 'toolbar'}
        aria-label={texts.stats.map}
        onClick={choose}
        onKeyDown={walk}
      >
        {map.shapes.map(([country, outline]) => (
          <path
            key={outline}
            d={outline}
            data-country={country}
            class={`land shade-${shadeOf(country)}`}
            {...stopOf(country)}
          />
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
              {...stopOf(country)}
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
