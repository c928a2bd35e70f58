/** Clicks as server-sent events. A beat every few seconds keeps proxies from closing a quiet stream. */
import type { Clock } from '../base/clock.ts';
import type { LiveUpdate } from '../clicks/live.ts';
import type { WatchList } from '../clicks/watch-list.ts';
import { streamed } from './wire/answer.ts';

const beatMs = 5_000;
/** Bytes a slow reader may be behind before it misses updates. */
const queuedBytesMax = 256 * 1024;

export function liveStream(watchers: WatchList, code: string, signal: AbortSignal, clock: Clock): Response {
  const encoder = new TextEncoder();
  let end = (): void => {};
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const send = (text: string): void => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(text));
        };
        const stopWatching = watchers.watch(
          code,
          update => send(eventOf(update)),
          () => {
            end();
            controller.close();
          },
        );
        const stopBeats = clock.every(beatMs, () => send(': beat\n\n'));
        end = () => {
          stopWatching();
          stopBeats();
          end = () => {};
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
