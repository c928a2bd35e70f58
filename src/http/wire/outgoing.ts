/**
 * What is on its way to a client. The socket takes most answers whole; of one it does not, the rest is kept here
 * until there is room, and whoever produces more waits for that. So a client that does not read costs what it did
 * not read of one answer, for a few seconds.
 */
import type { Socket } from 'bun';
import { compact } from './compact.ts';

/** Ticks without a byte taken after which a client counts as gone. */
const stalledTicksMax = 10;

export class Outgoing {
  readonly #socket: Pick<Socket, 'write'>;
  #unsent: Buffer | undefined;
  #stalledTicks = 0;
  #waiting: (() => void)[] = [];
  #isGone = false;
  /** Told when nothing more can be sent. */
  onGone: (() => void) | undefined;

  constructor(socket: Pick<Socket, 'write'>) {
    this.#socket = socket;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  get isBehind(): boolean {
    return this.#unsent !== undefined;
  }

  get unsentBytes(): number {
    return this.#unsent?.length ?? 0;
  }

  /** Text has to be ASCII, so that its length is its number of bytes. */
  write(data: string | Uint8Array): void {
    if (this.#isGone) return;
    if (this.#unsent !== undefined) {
      this.#unsent = Buffer.concat([this.#unsent, Buffer.from(data as Uint8Array)]);
      return;
    }
    const written = this.#socket.write(data);
    // Less than nothing was written when the socket is closed; its end will be told.
    if (written < 0 || written === data.length) return;
    this.#unsent =
      typeof data === 'string' ? Buffer.from(data.slice(written)) : Buffer.from(data.subarray(written));
    this.#stalledTicks = 0;
  }

  /** There is room again. */
  flush(): void {
    if (this.#unsent === undefined) return;
    const written = this.#socket.write(this.#unsent);
    if (written > 0) this.#stalledTicks = 0;
    if (written >= 0 && written < this.#unsent.length) {
      this.#unsent = compact(this.#unsent.subarray(written));
      return;
    }
    this.#unsent = undefined;
    this.#wake();
  }

  /** Resolves when there is room, or no reason to wait any more. */
  async room(): Promise<void> {
    if (this.#unsent === undefined) return;
    await new Promise<void>(resolve => this.#waiting.push(resolve));
  }

  /** To be asked once per tick. */
  isStalled(): boolean {
    if (this.#unsent === undefined) return false;
    this.#stalledTicks += 1;
    return this.#stalledTicks > stalledTicksMax;
  }

  abandon(): void {
    this.#unsent = undefined;
    this.#isGone = true;
    this.#wake();
    this.onGone?.();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
