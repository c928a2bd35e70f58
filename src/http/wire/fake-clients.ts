/** Clients of a fake wire, for tests: opened in groups, and closed at the end. */
import { RawConnection } from '../../../test/kit/raw-http.ts';
import { yieldToEventLoop } from '../../base/clock.ts';
import { type FakeWire, startFakeWire } from './fake-wire.ts';
import type { ListenerOptions } from './listener.ts';

export class FakeClients {
  readonly #wires: FakeWire[] = [];
  readonly #opened: RawConnection[] = [];

  start(options: Partial<ListenerOptions> = {}): FakeWire {
    const wire = startFakeWire(options);
    this.#wires.push(wire);
    return wire;
  }

  async open(
    { url }: Pick<FakeWire, 'url'>,
    options?: { keepsOpen?: boolean; from?: string },
  ): Promise<RawConnection> {
    const client = await RawConnection.open(url, options);
    this.#opened.push(client);
    return client;
  }

  async end(): Promise<void> {
    for (const client of this.#opened.splice(0)) client.abandon();
    for (const wire of this.#wires.splice(0)) await wire.stop();
  }
}

export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await yieldToEventLoop();
}

/** Long enough for sent bytes to arrive, and for a stream to fill all buffers between server and client. */
export async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) await yieldToEventLoop();
}

export async function tickUntil(wire: FakeWire, isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    wire.tick(1);
    await yieldToEventLoop();
  }
}
