/**
 * The world as SVG paths, projected once where the dashboard is bundled, so that a browser needs neither a
 * projection nor the atlas. Countries too small for the coarse atlas are drawn as dots where the finer one has
 * them: a click from Singapore is on the map.
 */
import { type GeoPermissibleObjects, geoNaturalEarth1, geoPath } from 'd3-geo';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import fine from 'world-atlas/countries-50m.json';
import coarse from 'world-atlas/countries-110m.json';
import { countryOfNumber } from './country-numbers.ts';

export interface WorldMap {
  readonly width: number;
  readonly height: number;
  /** Two letters, or empty for land without a code, with the outline. */
  readonly shapes: readonly (readonly [country: string, outline: string])[];
  readonly dots: readonly (readonly [country: string, x: number, y: number])[];
}

const width = 960;
const height = 440;
const antarctica = 'AQ';
const decimals = 1;

export function worldMap(): WorldMap {
  const large = countriesOf(coarse).filter(({ country }) => country !== antarctica);
  const projection = geoNaturalEarth1().fitExtent(
    [
      [4, 4],
      [width - 4, height - 4],
    ],
    { type: 'FeatureCollection', features: large.map(({ shape }) => shape) } as GeoPermissibleObjects,
  );
  const path = geoPath(projection).digits(decimals);
  const drawn = new Set(large.map(({ country }) => country));
  const small = countriesOf(fine).filter(({ country }) => country !== antarctica && !drawn.has(country));
  return {
    width,
    height,
    shapes: large.map(({ country, shape }) => [country, path(shape) ?? '']),
    dots: small.map(({ country, shape }) => {
      const [x, y] = path.centroid(shape);
      return [country, Number(x.toFixed(decimals)), Number(y.toFixed(decimals))];
    }),
  };
}

function countriesOf(atlas: unknown) {
  const topology = atlas as Topology<{ countries: GeometryCollection }>;
  return feature(topology, topology.objects.countries).features.map(shape => ({
    country: countryOfNumber.get(String(shape.id).padStart(3, '0')) ?? '',
    shape,
  }));
}
