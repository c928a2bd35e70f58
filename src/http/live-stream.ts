/**
 * Clicks as server-sent events. A beat every few seconds keeps proxies from closing a quiet stream, and is when we
 * look whether the one who watches still may: a stream can outlast its key, its session and the link by days.
 */
import type { Clock } from '../base/clock.ts';
import type { LiveUpdate } from '../clicks/live.ts';
import type { WatchList } from '../clicks/watch-list.ts';
import { streamed } from './wire/answer.ts';

export interface LiveStreamOptions {
  readonly watchers: WatchList;
  readonly code: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Rejects when whoever watches may not any longer. */
  readonly confirm: () => Promise<unknown>;
  /** Called once, whoever ends it. */
  readonly onEnd: () => void;
}

const beatMs = 5_000;
/** Bytes a slow reader may be behind before it misses updates. */
const queuedBytesMax = 256 * 1024;

export function liveStream(options: LiveStreamOptions): Response {
  const { watchers, code, signal, clock, confirm, onEnd } = options;
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
        signal.addEventListener('abort', () => end());
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
