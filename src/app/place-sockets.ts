/**
 * The sockets of a worker's neighbours. It has them all from the start, because they cannot be handed over later, and
 * serves those whose own worker is away. Invariant: what it does not serve it never accepts from.
 */
import { closeSync } from 'node:fs';
import { duplicateFd } from '../http/wire/duplicate-fd.ts';
import { socketFdOf, type WorkerPlace } from './supervision.ts';

/** Descriptors by place. */
export function socketsBeside({ index, count }: WorkerPlace): Map<number, number> {
  const others = Array.from({ length: count }, (_, place) => place).filter(place => place !== index);
  return new Map(others.map(place => [place, socketFdOf(place)]));
}

export class PlaceSockets {
  readonly #fds: Map<number, number>;
  readonly #serveAlso: (fd: number) => () => void;
  readonly #attended = new Map<number, () => void>();

  /** `serveAlso` serves a socket until the function that it returns is called, and closes it then. */
  constructor(fds: Map<number, number>, serveAlso: (fd: number) => () => void) {
    this.#fds = fds;
    this.#serveAlso = serveAlso;
  }

  /** Serves those of these places and no others; on copies, because they may be needed again. */
  attend(places: readonly number[]): void {
    for (const [place, stop] of this.#attended) {
      if (places.includes(place)) continue;
      stop();
      this.#attended.delete(place);
    }
    for (const place of places) {
      const fd = this.#fds.get(place);
      if (fd === undefined || this.#attended.has(place)) continue;
      this.#attended.set(place, this.#serveAlso(duplicateFd(fd)));
    }
  }

  /** When all workers end, nobody may hold what clients would wait at in vain. */
  close(): void {
    for (const fd of this.#fds.values()) closeSync(fd);
    this.#fds.clear();
  }
}
