/** Watches a link as a browser would: server-sent events, added up. */
import { adminKey } from './terse-process.ts';

export interface ShownClick {
  readonly code: string;
  readonly at: string;
  readonly kind: string;
  readonly signal: string;
  readonly country: string;
  readonly browser: string;
  readonly referrer: string;
}

export class LiveView {
  readonly #abort = new AbortController();
  #buffer = '';
  /** Clicks by the counts of all events so far. */
  shown = 0;
  readonly clicks: ShownClick[] = [];
  /** Resolves when either side has ended the stream. */
  ended: Promise<void> = Promise.resolve();

  /** Resolves when the server has begun to answer. */
  static async open(url: string, code: string): Promise<LiveView> {
    const view = new LiveView();
    const response = await fetch(`${url}/api/v1/links/${code}/live`, {
      headers: { Authorization: `Bearer ${adminKey}` },
      signal: view.#abort.signal,
    });
    if (response.headers.get('content-type') !== 'text/event-stream' || response.body === null) {
      throw new Error(`no stream: ${response.status} ${await response.text()}`);
    }
    view.ended = view.#follow(response.body).catch(() => undefined);
    return view;
  }

  close(): void {
    this.#abort.abort();
  }

  async #follow(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      this.#buffer += decoder.decode(chunk, { stream: true });
      const events = this.#buffer.split('\n\n');
      this.#buffer = events.pop()!;
      for (const event of events) this.#take(event);
    }
  }

  #take(event: string): void {
    const data = /^event: clicks\ndata: (.+)$/.exec(event)?.[1];
    // Anything else is a beat.
    if (data === undefined) return;
    const { counts, clicks } = JSON.parse(data) as { counts: Record<string, number>; clicks: ShownClick[] };
    for (const count of Object.values(counts)) this.shown += count;
    this.clicks.push(...clicks);
  }
}
