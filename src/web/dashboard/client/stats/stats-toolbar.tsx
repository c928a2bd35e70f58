/** Which time, in which steps, compared or not. All of it is kept in the address bar. */
import type { ComponentChildren } from 'preact';
import { texts } from '../../texts.ts';
import { formatMoment } from '../format.ts';
import { setQuery } from '../state/router.ts';
import { Button } from '../ui/button.tsx';
import { Segments } from '../ui/field.tsx';
import { Select } from '../ui/select.tsx';
import { type ChosenRange, defaultPreset, intervalsFor, presets } from './range.ts';
import { minutesFromMs } from './use-stats.ts';

export interface StatsToolbarProps {
  readonly range: ChosenRange;
  readonly isCompared: boolean;
  readonly children?: ComponentChildren;
}

export const wholeRange = { from: undefined, to: undefined, interval: undefined };

export function StatsToolbar({ range, isCompared, children }: StatsToolbarProps) {
  const intervals = intervalsFor(range.fromMs, range.toMs, minutesFromMs());
  return (
    <div class="stats-toolbar">
      <Segments
        label={texts.stats.range}
        value={range.preset}
        choices={presets.map(value => ({ value, label: texts.stats.presets[value] }))}
        onValue={preset => setQuery({ ...wholeRange, range: preset === defaultPreset ? undefined : preset })}
      />
      {range.preset === undefined && (
        <span class="zoomed-range">
          {texts.stats.between(formatMoment(range.fromMs), formatMoment(range.toMs))}
          <Button small icon="close" onClick={() => setQuery(wholeRange)}>
            {texts.stats.resetZoom}
          </Button>
        </span>
      )}
      <span class="spacer" />
      {children}
      {intervals.length > 1 && (
        <Select
          label={texts.stats.interval}
          value={range.interval}
          choices={intervals.map(value => ({ value, label: texts.stats.intervals[value] }))}
          onValue={interval => setQuery({ interval })}
        />
      )}
      <button
        type="button"
        class="button button-plain"
        aria-pressed={isCompared}
        onClick={() => setQuery({ compare: isCompared ? undefined : 'on' })}
      >
        {texts.stats.compare}
      </button>
    </div>
  );
}
