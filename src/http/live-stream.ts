/**
 * Clicks as server-sent events. A heartbeat every few seconds keeps proxies from closing a quiet stream, and checks
 * that the subscriber still has access: a stream can outlast its key, its session and the link by days.
 */
import type { Clock } from '../base/clock.ts';
import { type LiveUpdate, type WatchList, watchersMax } from '../clicks/live.ts';
import { streamed } from './wire/answer.ts';

interface LiveStreamOptions {
  readonly watchers: WatchList;
  readonly code: string;
  readonly clock: Clock;
  /** Rejects when the subscriber has lost access. */
  readonly confirm: () => Promise<unknown>;
  /** Called once, whichever side ends the stream. */
  readonly onEnd: () => void;
}

const beatMs = 5_000;
/** Bytes a slow reader may lag behind before it misses updates. */
const queuedBytesMax = 256 * 1024;

export function liveStream(options: LiveStreamOptions): Response {
  const { watchers, code, clock, confirm, onEnd } = options;
  const encoder = new TextEncoder();
  let end = (): void => {};
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let isOver = false;
        let isConfirming = false;
        const send = (text: string): void => {
          if (!isOver && (controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(text));
        };
        const finish = (): void => {
          if (isOver) return;
          end();
          controller.close();
        };
        const stopWatching = watchers.watch(code, update => send(eventOf(update)), finish);
        const stopBeats = clock.every(beatMs, () => {
          send(': beat\n\n');
          if (isConfirming) return;
          isConfirming = true;
          confirm()
            .catch(finish)
            .finally(() => {
              isConfirming = false;
            });
        });
        end = () => {
          if (isOver) return;
          isOver = true;
          stopWatching();
          stopBeats();
          onEnd();
        };
        send(': watching\n\n');
      },
      cancel: () => end(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: queuedBytesMax }),
  );
  return streamed(stream, {
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
  });
}

function eventOf({ clicks, counts }: LiveUpdate): string {
  const shown = clicks.map(click => ({ ...click, at: new Date(click.at).toISOString() }));
  return `event: clicks\ndata: ${JSON.stringify({ counts, clicks: shown })}\n\n`;
}

const shareOfFree = 1 / 3;
/**
 * How many live views each account has open here. The places are shared by all accounts. An account may have a third as
 * many as are free: alone it gets a quarter of all, and a few accounts that open more and more never leave the others
 * without any.
 */
export const viewsPerAccountMax = (watchersMax * shareOfFree) / (1 + shareOfFree);

export class WatchShares {
  readonly #open = new Map<string, number>();
  #total = 0;

  /** The function that releases the place, to be called once; undefined when the account has no place left. */
  take(accountId: string): (() => void) | undefined {
    const open = this.#open.get(accountId) ?? 0;
    if (open >= (watchersMax - this.#total) * shareOfFree) return undefined;
    this.#open.set(accountId, open + 1);
    this.#total += 1;
    return () => {
      this.#total -= 1;
      const left = this.#open.get(accountId)! - 1;
      if (left > 0) this.#open.set(accountId, left);
      else this.#open.delete(accountId);
    };
  }
}
