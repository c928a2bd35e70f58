/**
 * Connections of trusted proxies that have not said yet for whom they speak. What they send is kept here, a few
 * bytes, until that is known; only then does a connection see any of it. How long one may take is the connection's
 * affair: to it, whoever has not introduced itself has sent nothing.
 */
import type { Connection } from './connection.ts';
import { type Introduction, readIntroduction } from './introduction.ts';

export class Introductions {
  readonly #isTrusted: (address: string) => boolean;
  readonly #waiting = new Map<Connection, Buffer>();
  readonly #counts: { failedIntroductions: number };
  readonly #onKnown: (connection: Connection) => void;

  /** `onKnown` is called once it is known whose connection it is. */
  constructor(
    isTrusted: (address: string) => boolean,
    counts: { failedIntroductions: number },
    onKnown: (connection: Connection) => void,
  ) {
    this.#isTrusted = isTrusted;
    this.#counts = counts;
    this.#onKnown = onKnown;
  }

  /** Whether the peer has to say first whose connection it is. */
  begin(connection: Connection): boolean {
    if (!this.#isTrusted(connection.address)) return false;
    this.#waiting.set(connection, Buffer.alloc(0));
    return true;
  }

  forget(connection: Connection): void {
    this.#waiting.delete(connection);
  }

  /** Hands on what is the client's. */
  receive(connection: Connection, chunk: Buffer): void {
    const before = this.#waiting.get(connection);
    if (before === undefined) {
      connection.receive(chunk);
      return;
    }
    const bytes = before.length === 0 ? chunk : Buffer.concat([before, chunk]);
    const introduction = this.#read(connection, bytes);
    if (introduction === undefined) return;
    this.#waiting.delete(connection);
    if (introduction.address !== undefined) {
      connection.introduce(introduction.address);
      this.#onKnown(connection);
    }
    if (bytes.length > introduction.usedBytes) connection.receive(bytes.subarray(introduction.usedBytes));
  }

  #read(connection: Connection, bytes: Buffer): Introduction | undefined {
    try {
      const introduction = readIntroduction(bytes);
      if (introduction === undefined) this.#waiting.set(connection, Buffer.from(bytes));
      return introduction;
    } catch {
      // Not an answer: who does not speak this protocol may be speaking for anybody.
      this.#counts.failedIntroductions += 1;
      connection.terminate();
      return undefined;
    }
  }
}
