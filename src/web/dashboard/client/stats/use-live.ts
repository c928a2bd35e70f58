/** Clicks as they happen, for the page of one link. The browser connects again by itself when the stream breaks. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { liveAddress } from '../api/links.ts';
import type { LiveClick, LiveEvent } from '../api/types.ts';

export interface Live {
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
/** A busy server takes longer; this long after the last click it is asked once more. */
const settleLateMs = 6_000;

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

/** Clicks that were seen and are not yet in numbers asked for at this time. */
export function notYetCounted({ arrivals }: Live, askedAtMs: number): number {
  return arrivals.filter(seenAtMs => seenAtMs > askedAtMs - settleMs / 3).length;
}
