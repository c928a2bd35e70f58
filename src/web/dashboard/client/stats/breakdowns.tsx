/** The origin of clicks: sources, places with the map, technology, campaigns, languages, QR codes, bots. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import {
  type Dimension,
  type DimensionName,
  dimensionOf,
  dimensions,
} from '../../../../clicks/dimensions.ts';
import { texts } from '../../texts.ts';
import { isStranger } from '../api/request.ts';
import type { Stats, ValueCount } from '../api/types.ts';
import { linkIndex } from '../state/links.ts';
import { hrefOf } from '../state/router.ts';
import { useStore } from '../state/store.ts';
import { Button } from '../ui/button.tsx';
import { Segments } from '../ui/field.tsx';
import {
  BarList,
  type BarRow,
  headingOf,
  isCampaign,
  shortHeadingOf,
  togglerOf,
  valueName,
} from './filter-chips.tsx';
import { isFiltered, type ViewFilter } from './filters.ts';
import type { ShownStats } from './use-stats.ts';
import { ValuesDialog } from './values-dialog.tsx';
import { WorldMap } from './world-map.tsx';

interface BreakdownsProps {
  readonly shown: ShownStats;
  /** The filters of the address bar, which may be newer than the shown numbers. */
  readonly filters: readonly ViewFilter[];
}

export function Breakdowns({ shown, filters }: BreakdownsProps) {
  const { stats } = shown;
  const card = { shown, filters };
  return (
    <div class="breakdowns">
      <ListsCard
        {...card}
        label={texts.stats.sources}
        lists={isStranger() ? ['referrer'] : listsOf('referrer')}
      />
      <ListsCard {...card} label={texts.stats.technology} lists={listsOf('agent')} />
      <ListsCard {...card} label={texts.stats.places} lists={listsOf('place')} isWide>
        <WorldMap
          countries={stats.topCountries}
          chosen={filters.find(({ dimension }) => dimension === 'country')?.values ?? []}
          onCountry={isStranger() ? undefined : country => togglerOf(filters, 'country', country)?.()}
        />
      </ListsCard>
      <ListsCard
        {...card}
        label={texts.stats.campaigns}
        lists={['utmCampaign', 'utmSource', 'utmMedium', 'utmTerm', 'utmContent']}
      />
      <ListsCard {...card} label={headingOf('language')} lists={['language']} />
      <ListsCard {...card} label={texts.stats.qr} lists={['via']} />
      <ListsCard {...card} label={texts.stats.bots} lists={['bot']} />
    </div>
  );
}

/** The dimensions of one column of a click share a card. */
const listsOf = (column: Dimension['of']): DimensionName[] =>
  dimensions.filter(({ of }) => of === column).map(({ name }) => name);

const sum = (values: readonly ValueCount[]): number =>
  values.reduce((total, { clicks }) => total + clicks, 0);

/** Lists add up to the clicks of the range, or to more if an earlier version counted some of its days. */
function wholeOf({ range }: Stats, dimension: DimensionName, values: readonly ValueCount[]): number {
  return Math.max(dimension === 'bot' ? range.botClicks : range.clicks, sum(values));
}

const shownMax = 9;

interface ListsCardProps extends BreakdownsProps {
  readonly label: string;
  /** If there are several, one at a time is shown. */
  readonly lists: readonly DimensionName[];
  readonly isWide?: boolean;
  /** Beside the list. */
  readonly children?: ComponentChildren;
}

function ListsCard({ shown, filters, lists, label, isWide = false, children }: ListsCardProps) {
  const [dimension, setDimension] = useState(lists[0]!);
  const values = shown.stats[dimensionOf(dimension).list];
  // Clicks without a campaign are not listed: they are usually most of the clicks.
  const listed = values.filter(({ value }) => value !== '' || !isCampaign(dimension));
  const rows = listed.slice(0, shownMax).map(
    ({ value, clicks }): BarRow => ({
      key: value,
      label: <bdi>{valueName(dimension, value)}</bdi>,
      count: clicks,
      isFiltered: isFiltered(filters, dimension, value),
      onToggle: togglerOf(filters, dimension, value),
    }),
  );
  const list = <BarList rows={rows} total={wholeOf(shown.stats, dimension, values)} />;
  return (
    <section class={isWide ? 'card card-wide' : 'card'} aria-label={label} data-dimension={dimension}>
      <header class="card-header">
        <h2>{label}</h2>
        {lists.length > 1 && (
          <Segments
            label={label}
            value={dimension}
            choices={lists.map(value => ({ value, label: shortHeadingOf(value) }))}
            onValue={setDimension}
          />
        )}
      </header>
      {children === undefined ? (
        list
      ) : (
        <div class="map-and-list">
          {children}
          {list}
        </div>
      )}
      <ShowAll shown={shown} filters={filters} dimension={dimension} hasMore={listed.length > shownMax} />
    </section>
  );
}

interface ShowAllProps extends BreakdownsProps {
  readonly dimension: DimensionName;
  /** Whether there are more values than the card shows. */
  readonly hasMore: boolean;
}

function ShowAll({ shown, filters, dimension, hasMore }: ShowAllProps) {
  const isOwn = filters.some(filter => filter.dimension === dimension);
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      {(hasMore || isOwn) && (
        <Button
          kind="quiet"
          small
          class="show-all"
          aria-label={texts.stats.showAllOf(headingOf(dimension))}
          onClick={() => setOpen(true)}
        >
          {texts.stats.showAll}
        </Button>
      )}
      {isOpen && (
        <ValuesDialog
          choice={shown.choice}
          filters={filters}
          dimension={dimension}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

export function TopLinks({ shown, filters }: BreakdownsProps) {
  const { links } = useStore(linkIndex);
  const titles = new Map(links.map(({ shortCode, title }) => [shortCode, title]));
  const rows = shown.stats.topLinks.slice(0, shownMax).map(({ value, clicks }) => ({
    key: value,
    count: clicks,
    href: hrefOf(`/links/${value}`),
    label: (
      <>
        <strong>{value}</strong> <bdi class="quiet">{titles.get(value) ?? ''}</bdi>
      </>
    ),
    isFiltered: isFiltered(filters, 'link', value),
    onToggle: togglerOf(filters, 'link', value),
  }));
  return (
    <section class="card card-wide" aria-label={texts.stats.topLinks} data-dimension="link">
      <h2>{texts.stats.topLinks}</h2>
      <BarList rows={rows} total={shown.stats.range.clicks} />
      <ShowAll
        shown={shown}
        filters={filters}
        dimension="link"
        hasMore={shown.stats.topLinks.length > shownMax}
      />
    </section>
  );
}
