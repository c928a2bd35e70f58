/** Time range, comparison, interval and time zone. All of it is kept in the address bar. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { isTimeZone } from '../../../../base/zone.ts';
import { texts } from '../../texts.ts';
import { formatIn, formatNumber } from '../format.ts';
import { timeZone as browserZone } from '../site.ts';
import { setQuery } from '../state/router.ts';
import { Button } from '../ui/button.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { Popover, PopoverChoice } from '../ui/popover.tsx';
import {
  bucketsMax,
  comparisons,
  dayIn,
  daysRange,
  defaultPresetOf,
  intervalsFor,
  presets,
} from './range.ts';
import { minutesFromMs, type StatsChoice } from './use-stats.ts';

/** Back to the range before zooming. */
export const unzoomed = { zoomFrom: undefined, zoomTo: undefined, interval: undefined };
/** Back to a preset. */
const withoutDates = { ...unzoomed, from: undefined, to: undefined };

/** Every choice is a step in the history, so that Back returns to the numbers before it. */
const choose = (changes: Readonly<Record<string, string | undefined>>): void =>
  setQuery(changes, { isStep: true });

interface StatsToolbarProps {
  readonly choice: StatsChoice;
  readonly children?: ComponentChildren;
}

export function StatsToolbar({ choice, children }: StatsToolbarProps) {
  const { range, comparison, timeZone } = choice;
  const intervals = range.preset === 'all' ? [] : intervalsFor(range.fromMs, range.toMs, minutesFromMs());
  return (
    <div class="stats-toolbar">
      <RangePicker choice={choice} />
      {range.preset === undefined && (
        <Button small icon="close" onClick={() => choose(range.isZoomed ? unzoomed : withoutDates)}>
          {texts.stats.resetZoom}
        </Button>
      )}
      {range.preset !== 'all' && (
        <Select
          label={texts.stats.compare}
          value={comparison ?? 'none'}
          choices={(['none', ...comparisons] as const).map(value => ({
            value,
            label: texts.stats.comparisons[value],
          }))}
          onValue={value => choose({ compare: value === 'none' ? undefined : value })}
        />
      )}
      {intervals.length > 1 && (
        <Select
          label={texts.stats.interval}
          value={range.interval}
          choices={intervals.map(value => ({ value, label: texts.stats.intervals[value] }))}
          onValue={interval => choose({ interval })}
        />
      )}
      <ZonePicker timeZone={timeZone} />
      <span class="spacer" />
      {children}
    </div>
  );
}

function RangePicker({ choice: { range, timeZone, of } }: { readonly choice: StatsChoice }) {
  const { fromMs, toMs, preset } = range;
  const isWholeDays = [fromMs, toMs].every(atMs => formatIn('tickTime', atMs, timeZone) === '00:00');
  const form = isWholeDays ? 'calendarDay' : 'moment';
  const [first, last] = [fromMs, isWholeDays ? toMs - 1 : toMs].map(atMs => formatIn(form, atMs, timeZone));
  const text =
    preset !== undefined
      ? texts.stats.presets[preset]
      : first === last
        ? first!
        : texts.stats.between(first!, last!);
  const usual = defaultPresetOf({ createdMs: of.createdMs, nowMs: browserClock.now() });
  return (
    <Popover label={texts.stats.range} text={text} icon="clock">
      {close => (
        <>
          {presets
            .filter(name => name !== 'created' || of.createdMs !== undefined)
            .map(name => (
              <PopoverChoice
                key={name}
                isChosen={name === preset}
                onChoose={() => {
                  close();
                  choose({ ...withoutDates, range: name === usual ? undefined : name });
                }}
              >
                {texts.stats.presets[name]}
              </PopoverChoice>
            ))}
          <CustomDays
            first={dayIn(fromMs, timeZone)}
            last={dayIn(Math.min(toMs - 1, browserClock.now()), timeZone)}
            timeZone={timeZone}
            onDone={close}
          />
        </>
      )}
    </Popover>
  );
}

interface CustomDaysProps {
  readonly first: string;
  readonly last: string;
  readonly timeZone: string;
  readonly onDone: () => void;
}

function CustomDays({ first, last, timeZone, onDone }: CustomDaysProps) {
  const [days, setDays] = useState({ first, last });
  const range = daysRange(days.first, days.last, timeZone);
  const problem =
    range === 'order'
      ? texts.stats.dayOrder
      : range === 'length'
        ? texts.stats.dayMax(formatNumber(bucketsMax))
        : undefined;
  return (
    <form
      class="custom-days"
      aria-label={texts.stats.custom}
      onSubmit={event => {
        event.preventDefault();
        if (typeof range !== 'object') return;
        onDone();
        choose({ ...withoutDates, ...range });
      }}
    >
      <p class="custom-title">{texts.stats.custom}</p>
      <TextField
        label={texts.stats.firstDay}
        type="date"
        value={days.first}
        onText={text => setDays({ ...days, first: text })}
      />
      <TextField
        label={texts.stats.lastDay}
        type="date"
        value={days.last}
        onText={text => setDays({ ...days, last: text })}
        problem={problem}
      />
      <Button kind="primary" small type="submit" disabled={typeof range !== 'object'}>
        {texts.stats.apply}
      </Button>
    </form>
  );
}

const shownZonesMax = 60;
let known: readonly string[] | undefined;

/** The time zones whose days consist of whole quarter hours, which the server counts by. */
function zones(): readonly string[] {
  known ??= [...new Set([browserZone, 'UTC', ...Intl.supportedValuesOf('timeZone')])];
  return known;
}

function ZonePicker({ timeZone }: { readonly timeZone: string }) {
  return (
    <Popover label={texts.stats.zone} text={zoneName(timeZone)} icon="globe">
      {close => (
        <ZoneList
          timeZone={timeZone}
          onZone={zone => {
            close();
            choose({ zone: zone === browserZone ? undefined : zone });
          }}
        />
      )}
    </Popover>
  );
}

/** Whether the server counts in a zone is found out only for those that are shown: it takes a while. */
function zonesNamed(wanted: string): readonly string[] {
  const shown: string[] = [];
  for (const zone of zones()) {
    if (shown.length === shownZonesMax) break;
    if (zoneName(zone).toLowerCase().includes(wanted) && isTimeZone(zone)) shown.push(zone);
  }
  return shown;
}

const zoneName = (zone: string): string => zone.replaceAll('_', ' ');

interface ZoneListProps {
  readonly timeZone: string;
  readonly onZone: (zone: string) => void;
}

function ZoneList({ timeZone, onZone }: ZoneListProps) {
  const [search, setSearch] = useState('');
  const wanted = search.trim().toLowerCase();
  const shown = zonesNamed(wanted);
  return (
    <form
      class="zone-list"
      onSubmit={event => {
        event.preventDefault();
        if (shown[0] !== undefined) onZone(shown[0]);
      }}
    >
      <input
        class="input"
        type="search"
        data-autofocus
        aria-label={texts.stats.zoneSearch}
        placeholder={texts.stats.zoneSearch}
        value={search}
        onInput={event => setSearch(event.currentTarget.value)}
      />
      <div class="zone-choices">
        {shown.map(zone => (
          <PopoverChoice key={zone} isChosen={zone === timeZone} onChoose={() => onZone(zone)}>
            {zoneName(zone)}
          </PopoverChoice>
        ))}
        {shown.length === 0 && <p class="quiet">{texts.stats.zoneNone}</p>}
      </div>
    </form>
  );
}
