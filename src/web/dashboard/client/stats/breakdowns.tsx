/** Where clicks came from and with what: sources, countries with the map, devices, browsers, systems. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import type { Stats, ValueCount } from '../api/types.ts';
import { WorldMap } from '../charts/world-map.tsx';
import { countryName } from '../format.ts';
import { linkIndex } from '../state/link-index.ts';
import { hrefOf } from '../state/router.ts';
import { useStore } from '../state/store.ts';
import { Segments } from '../ui/field.tsx';
import { BarList, type BarRow } from './bar-list.tsx';

const sum = (values: readonly ValueCount[]): number =>
  values.reduce((total, { clicks }) => total + clicks, 0);

const rowsOf = (values: readonly ValueCount[], labelOf: (value: string) => string): BarRow[] =>
  values.map(({ value, clicks }) => ({ key: value, label: <bdi>{labelOf(value)}</bdi>, count: clicks }));

export function Breakdowns({ stats }: { readonly stats: Stats }) {
  const countries = rowsOf(stats.topCountries, value => countryName(value) ?? texts.stats.unknown);
  return (
    <div class="breakdowns">
      <section class="card" aria-label={texts.stats.sources}>
        <h2>{texts.stats.sources}</h2>
        <BarList
          rows={rowsOf(stats.topReferrers, value => (value === '' ? texts.stats.direct : value))}
          total={sum(stats.topReferrers)}
        />
      </section>
      <Technology stats={stats} />
      <section class="card card-wide" aria-label={texts.stats.countries}>
        <h2>{texts.stats.countries}</h2>
        <div class="map-and-list">
          <WorldMap countries={stats.topCountries} />
          <BarList rows={countries} total={sum(stats.topCountries)} />
        </div>
      </section>
    </div>
  );
}

const kinds = ['devices', 'browsers', 'os'] as const;

function Technology({ stats }: { readonly stats: Stats }) {
  const [kind, setKind] = useState<(typeof kinds)[number]>('devices');
  const values = stats[kind];
  const labelOf = (value: string): string =>
    kind === 'devices'
      ? (texts.stats.deviceNames[value] ?? value)
      : value === ''
        ? texts.stats.unknown
        : value;
  return (
    <section class="card" aria-label={texts.stats.technology}>
      <header class="card-header">
        <h2>{texts.stats[kind]}</h2>
        <Segments
          label={texts.stats.technology}
          value={kind}
          choices={kinds.map(value => ({ value, label: texts.stats.short[value] }))}
          onValue={setKind}
        />
      </header>
      <BarList rows={rowsOf(values, labelOf)} total={sum(values)} />
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
