/** The clicks of a link as they come in. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import { liveAddress } from '../api/calls.ts';
import type { LiveClick, LiveEvent } from '../api/types.ts';
import { formatIn, formatNumber } from '../format.ts';
import { ClickBadges, placeOf, technologyOf } from './click-log.tsx';
import { meets, type ViewFilter } from './filters.ts';

const shownMax = 6;

interface LivePanelProps {
  readonly live: Live;
  readonly isFiltered: boolean;
  readonly timeZone: string;
}

export function LivePanel({ live, isFiltered, timeZone }: LivePanelProps) {
  const since = isFiltered ? texts.live.sinceFiltered : texts.live.since;
  return (
    <section class="card live" aria-label={texts.live.title}>
      <header class="card-header">
        <h2>
          <span class={live.isConnected ? 'live-dot' : 'live-dot live-off'} aria-hidden="true" />
          {texts.live.title}
        </h2>
        <p class="live-count" role="status">
          <strong data-testid="live-count">{formatNumber(isFiltered ? live.passed : live.seen)}</strong>{' '}
          {live.isConnected ? since : texts.live.connecting}
        </p>
      </header>
      {live.recent.length === 0 ? (
        <p class="quiet">{texts.live.none}</p>
      ) : (
        <ul class="live-list">
          {live.recent.slice(0, shownMax).map((click, index) => (
            <LiveRow key={`${click.at}-${live.passed - index}`} click={click} timeZone={timeZone} />
          ))}
        </ul>
      )}
    </section>
  );
}

function LiveRow({ click, timeZone }: { readonly click: LiveClick; readonly timeZone: string }) {
  return (
    <li>
      <time>{formatIn('clock', click.at, timeZone)}</time>
      <span>
        <ClickBadges {...click} /> {placeOf(click)}
      </span>
      <span class="quiet">{technologyOf(click)}</span>
      <span class="quiet live-source">
        <bdi>{click.referrer === '' ? texts.stats.direct : click.referrer}</bdi>
      </span>
    </li>
  );
}

interface Live {
  readonly isConnected: boolean;
  /** Newest first. */
  readonly recent: readonly LiveClick[];
  /** Clicks since the page was opened, whatever the filters. */
  readonly seen: number;
  /** Clicks that pass the filters, since they were set. */
  readonly passed: number;
  /** People's clicks with the time they were seen at, until they are in the numbers read from the server. */
  readonly arrivals: readonly number[];
}

const recentMax = 20;
const arrivalsMax = 5_000;
/** The server has a click in its numbers about this long after it was shown here. */
const settleMs = 1_500;
/** A busy server takes longer; this long after the last click the numbers are requested once more. */
const settleLateMs = 6_000;

/** Browsers do not reconnect after an answer that is not an event stream. */
const reopenMs = 10_000;

const nothing: Live = { isConnected: false, recent: [], seen: 0, passed: 0, arrivals: [] };

/**
 * Live clicks that pass the filters, for the page of one link. The browser reconnects by itself when the stream breaks,
 * but not when it is rejected, such as after the session has ended. Of a burst the server shows some clicks one by one and counts the others, which filters cannot see.
 */
export function useLive(code: string, filters: readonly ViewFilter[], onSettled: () => void): Live {
  const [live, setLive] = useState<Live>(nothing);
  const passing = useRef(filters);
  passing.current = filters;
  const filterKey = JSON.stringify(filters);
  useEffect(() => setLive(({ isConnected, seen }) => ({ ...nothing, isConnected, seen })), [filterKey]);
  const settled = useRef(onSettled);
  settled.current = onSettled;
  useEffect(() => {
    let source: EventSource | undefined;
    let cancelReopening: (() => void) | undefined;
    let cancelSettling: (() => void) | undefined;
    let cancelLate: (() => void) | undefined;
    const connected = (isConnected: boolean): void => setLive(before => ({ ...before, isConnected }));
    const open = (): void => {
      source = new EventSource(liveAddress(code));
      source.addEventListener('open', () => connected(true));
      source.addEventListener('error', () => {
        connected(false);
        if (source?.readyState === EventSource.CLOSED) cancelReopening = browserClock.after(reopenMs, open);
      });
      source.addEventListener('clicks', take);
    };
    const take = (event: MessageEvent): void => {
      const { clicks: all, counts } = JSON.parse(event.data as string) as LiveEvent;
      const clicks = all.filter(click => meets(click, passing.current));
      const burst = Math.max(0, (counts[code] ?? 0) - all.length);
      const unseen = passing.current.length > 0 ? 0 : burst;
      const humans = clicks.filter(({ kind }) => kind === 'human').length + unseen;
      const nowMs = browserClock.now();
      setLive(before => ({
        ...before,
        recent: [...clicks.toReversed(), ...before.recent].slice(0, recentMax),
        seen: before.seen + all.length + burst,
        passed: before.passed + clicks.length + unseen,
        arrivals: [...before.arrivals, ...Array.from({ length: humans }, () => nowMs)].slice(-arrivalsMax),
      }));
      cancelSettling ??= browserClock.after(settleMs, () => {
        cancelSettling = undefined;
        settled.current();
      });
      cancelLate?.();
      cancelLate = browserClock.after(settleLateMs, () => settled.current());
    };
    open();
    return () => {
      source?.close();
      cancelReopening?.();
      cancelSettling?.();
      cancelLate?.();
    };
  }, [code]);
  return live;
}

/** Live clicks that are not yet in numbers requested at this time. */
export function notYetCounted({ arrivals }: Live, askedAtMs: number): number {
  return arrivals.filter(seenAtMs => seenAtMs > askedAtMs - settleMs / 3).length;
}
