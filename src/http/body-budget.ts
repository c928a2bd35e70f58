/**
 * How many bytes of request bodies this process holds at once. Each body has its own limit, but thousands of
 * requests may be in progress, and their product is more than any machine has. Bytes are counted as they arrive:
 * announcing a large body costs the sender nothing, so it must not take room from others. What a request has taken
 * stays taken until it is answered, because the parsed body lives for as long.
 */
import { Problem } from '../base/errors.ts';

export class BodyBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** One request's part of the budget. Callers without a key get at most half, so that they cannot shut out others. */
  share(isAnonymous: boolean): BodyShare {
    const bytesMax = isAnonymous ? this.#bytesMax / 2 : this.#bytesMax;
    let taken = 0;
    return {
      take: bytes => {
        if (this.#bytes + bytes > bytesMax) {
          throw new Problem('overloaded', {
            detail: 'Too many large requests are being read.',
            headers: { 'Retry-After': '1' },
          });
        }
        taken += bytes;
        this.#bytes += bytes;
      },
      release: () => {
        this.#bytes -= taken;
        taken = 0;
      },
    };
  }
}

export interface BodyShare {
  /** Throws when there is no room for so much more. */
  take(bytes: number): void;
  /** Gives all of it back. */
  release(): void;
}
