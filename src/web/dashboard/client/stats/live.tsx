/** The clicks of a link as they come in. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { liveAddress } from '../api/calls.ts';
import type { LiveClick, LiveEvent } from '../api/types.ts';
import { countryName, formatClock, formatNumber } from '../format.ts';

const shownMax = 6;

export function LivePanel({ live }: { readonly live: Live }) {
  return (
    <section class="card live" aria-label={texts.live.title}>
      <header class="card-header">
        <h2>
          <span class={live.isConnected ? 'live-dot' : 'live-dot live-off'} aria-hidden="true" />
          {texts.live.title}
        </h2>
        <p class="live-count" role="status">
          <strong data-testid="live-count">{formatNumber(live.seen)}</strong>{' '}
          {live.isConnected ? texts.live.since : texts.live.connecting}
        </p>
      </header>
      {live.recent.length === 0 ? (
        <p class="quiet">{texts.live.none}</p>
      ) : (
        <ul class="live-list">
          {live.recent.slice(0, shownMax).map((click, index) => (
            <LiveRow key={`${click.at}-${live.seen - index}`} click={click} />
          ))}
        </ul>
      )}
    </section>
  );
}

function LiveRow({ click }: { readonly click: LiveClick }) {
  const place = [click.city, countryName(click.country)]
    .filter(text => text !== undefined && text !== '')
    .join(', ');
  return (
    <li>
      <time>{formatClock(click.at)}</time>
      <span>{place === '' ? texts.stats.unknownPlace : place}</span>
      <span class="quiet">{[click.browser, click.os].filter(text => text !== '').join(' · ')}</span>
      <bdi class="quiet">{click.referrer === '' ? texts.stats.direct : click.referrer}</bdi>
      {click.kind !== 'human' && <span class="badge badge-bot">{texts.live.bot}</span>}
      {click.signal !== 'none' && <span class="badge badge-bot">{texts.live.suspicious}</span>}
    </li>
  );
}

interface Live {
  readonly isConnected: boolean;
  /** Newest first. */
  readonly recent: readonly LiveClick[];
  /** Clicks seen since the page was opened. */
  readonly seen: number;
  /** People's clicks with the time they were seen at, until they are in the numbers read from the server. */
  readonly arrivals: readonly number[];
}

const recentMax = 20;
const arrivalsMax = 5_000;
/** The server has a click in its numbers about this long after it was shown here. */
const settleMs = 1_500;
/** A busy server takes longer; this long after the last click the numbers are requested once more. */
const settleLateMs = 6_000;

/** Live clicks, for the page of one link. The browser reconnects by itself when the stream breaks. */
export function useLive(code: string, onSettled: () => void): Live {
  const [live, setLive] = useState<Live>({ isConnected: false, recent: [], seen: 0, arrivals: [] });
  const settled = useRef(onSettled);
  settled.current = onSettled;
  useEffect(() => {
    const source = new EventSource(liveAddress(code));
    let cancelSettling: (() => void) | undefined;
    let cancelLate: (() => void) | undefined;
    const connected = (isConnected: boolean) => (): void => setLive(before => ({ ...before, isConnected }));
    source.addEventListener('open', connected(true));
    source.addEventListener('error', connected(false));
    source.addEventListener('clicks', event => {
      const { clicks, counts } = JSON.parse(event.data as string) as LiveEvent;
      const count = counts[code] ?? clicks.length;
      const humans =
        clicks.filter(({ kind }) => kind === 'human').length + Math.max(0, count - clicks.length);
      const nowMs = browserClock.now();
      setLive(before => ({
        ...before,
        recent: [...clicks.toReversed(), ...before.recent].slice(0, recentMax),
        seen: before.seen + count,
        arrivals: [...before.arrivals, ...Array.from({ length: humans }, () => nowMs)].slice(-arrivalsMax),
      }));
      cancelSettling ??= browserClock.after(settleMs, () => {
        cancelSettling = undefined;
        settled.current();
      });
      cancelLate?.();
      cancelLate = browserClock.after(settleLateMs, () => settled.current());
    });
    return () => {
      source.close();
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
