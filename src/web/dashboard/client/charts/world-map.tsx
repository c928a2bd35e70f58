/** Where clicks come from, as a map. The list beside it says the same in words, so the map itself is a picture. */
import { useEffect, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import type { ValueCount } from '../api/types.ts';
import { countryName, formatNumber } from '../format.ts';
import { mapPath } from '../site.ts';
import { Skeleton } from '../ui/states.tsx';

interface WorldMapData {
  readonly width: number;
  readonly height: number;
  readonly shapes: readonly (readonly [country: string, outline: string])[];
  readonly dots: readonly (readonly [country: string, x: number, y: number])[];
}

const shades = 5;
let reading: Promise<WorldMapData> | undefined;

export function WorldMap({ countries }: { readonly countries: readonly ValueCount[] }) {
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
  // By the square root, so that a country with a tenth of the clicks does not look like none.
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
