/**
 * Carries a change from the process that made it to every cache. Whoever changed a link forgets it, fences it in the
 * shared cache and then tells the others, before its caller hears that the change was made. The message is quick and may
 * be lost; the store's feed is slower and never loses anything, so a change that only the feed tells of is fenced by
 * everyone who hears of it there. A message says which codes it could not fence, and the feed is left to tell of those.
 */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { codePattern } from '../links/link.ts';
import type { LinkCache } from './cache.ts';
import type { CacheTrust } from './cache-trust.ts';
import { ToldTwice } from './told-twice.ts';

export interface InvalidationOptions {
  readonly cache: Pick<LinkCache, 'publish' | 'onMessage'>;
  readonly trust: CacheTrust;
  readonly clock: Clock;
  /** Drops a code from this process's own memory. */
  readonly forget: (code: string) => void;
  readonly random: Random;
}

/** Keeps a message to a few tens of kilobytes. */
const codesPerMessageMax = 500;

export class Invalidation {
  readonly #options: InvalidationOptions;
  readonly #told: ToldTwice;
  /** Tells this process's messages from others'. */
  readonly #name: string;
  messagesSent = 0;
  messagesFailed = 0;
  messagesHeard = 0;
  /** Changes that the feed told of and no message had: lost ones, and those that the feed was quicker with. */
  heardByFeedAlone = 0;

  constructor(options: InvalidationOptions) {
    this.#options = options;
    this.#told = new ToldTwice(options.clock);
    this.#name = options.random.bytes(8).toHex();
  }

  start(): void {
    this.#options.cache.onMessage(message => this.#hear(message));
  }

  /** For changes that are durable. Ends when every process can know, or a little later when that is not to be had. */
  async announce(codes: readonly string[]): Promise<void> {
    for (const code of codes) this.#forget(code);
    for (let from = 0; from < codes.length; from += codesPerMessageMax) {
      await this.#announceSome(codes.slice(from, from + codesPerMessageMax));
    }
  }

  /** For every change that the store's feed tells of, ours as well as others'. */
  heard(code: string): void {
    this.#forget(code);
    if (this.#told.tell(code, 'feed')) return;
    this.heardByFeedAlone += 1;
    this.#options.trust.owe([code]);
  }

  async #announceSome(codes: readonly string[]): Promise<void> {
    const { cache, trust } = this.#options;
    const unfenced = await trust.fence(codes);
    const fenced = codes.filter(code => !unfenced.has(code));
    for (const code of fenced) this.#told.tell(code, 'message');
    try {
      await cache.publish(`${this.#name} ${fenced.join()} ${[...unfenced].join()}`);
      this.messagesSent += 1;
    } catch {
      // The feed tells the others, a moment later.
      this.messagesFailed += 1;
    }
  }

  #hear(message: string): void {
    const [sender, fenced = '', unfenced = ''] = message.split(' ');
    if (sender === this.#name) return;
    this.messagesHeard += 1;
    for (const code of codesIn(fenced)) {
      this.#forget(code);
      this.#told.tell(code, 'message');
    }
    for (const code of codesIn(unfenced)) this.#forget(code);
  }

  #forget(code: string): void {
    this.#options.trust.noteChange(code);
    this.#options.forget(code);
  }
}

/** Whatever is not a code was not said by one of us. */
function codesIn(list: string): string[] {
  return list.split(',').filter(code => codePattern.test(code));
}
