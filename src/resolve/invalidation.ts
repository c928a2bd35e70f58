/**
 * Propagates a change from the process that made it to every cache. That process drops the link from memory, fences it
 * in the shared cache and then publishes it, before it answers its caller. A message is fast and may be lost; the
 * store's feed is slower and never loses anything, so a change that only the feed reports is fenced by every process
 * that reads it there. A message lists the codes it could not fence, and the feed is left to report those.
 *
 * Change messages are numbered, and a heartbeat repeats the latest number each second, so that a process notices a lost
 * message (freshness.ts), requests it again, and reads the feed at once. A change that only the feed reported is
 * published by one of the processes that read it, for processes that do not reach the store.
 */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { codePattern } from '../links/link.ts';
import type { LinkCache } from './cache.ts';
import type { CacheTrust } from './cache-trust.ts';
import { type Freshness, missingMax, type Reception } from './freshness.ts';

export interface InvalidationOptions {
  readonly cache: Pick<LinkCache, 'publish' | 'onMessage'>;
  readonly trust: CacheTrust;
  readonly freshness: Freshness;
  readonly clock: Clock;
  /** Drops a code from this process's own memory. */
  readonly forget: (code: string) => void;
  /** An account or a key changed, as described by the process that changed it. */
  readonly onAccountChange: (change: string) => void;
  /** Messages were missed: the feed has the changes. */
  readonly onMissed: () => void;
  readonly random: Random;
}

/** Limits a message to a few tens of kilobytes. */
const codesPerMessageMax = 500;
const beatEveryMs = 1_000;
/** Less than the time between two heartbeats, each of which makes a process request what it still misses. */
const repeatAgainMs = 900;
/** Limits all messages that are kept for repeating, in characters, which are bytes here. */
const sentLengthMax = 4_000_000;
/** Processes wait for different times, so that about one of them publishes a change that all of them read. */
const relayWithinMs = 300;
const accountChangePattern = /^[\w:-]{1,100}$/;

interface SentChange {
  readonly change: string;
  repeatedAtMs: number;
}

export class Invalidation {
  readonly #options: InvalidationOptions;
  readonly #duplicates: ChangeDeduplicator;
  /** Distinguishes this process's messages from those of others. */
  readonly #name: string;
  /** The number of the latest change message, whether or not it could be sent. */
  #changes = 0;
  /** The latest change messages by number, for processes that missed one. */
  readonly #sent = new Map<number, SentChange>();
  #sentLength = 0;
  /** Codes that the feed reported and no message did, to be published unless another process does so first. */
  readonly #unpublished = new Set<string>();
  #stopBeats: (() => void) | undefined;
  #cancelRelay: (() => void) | undefined;
  messagesSent = 0;
  messagesFailed = 0;
  messagesReceived = 0;
  /** Changes that the feed reported before any message did: the message was lost, or slower than the feed. */
  changesByFeedOnly = 0;

  constructor(options: InvalidationOptions) {
    this.#options = options;
    this.#duplicates = new ChangeDeduplicator(options.clock);
    this.#name = options.random.bytes(8).toHex();
  }

  start(): void {
    const { cache, clock } = this.#options;
    cache.onMessage(message => this.#hear(message));
    this.#beat();
    this.#stopBeats = clock.every(beatEveryMs, () => this.#beat());
  }

  /** The other processes need not wait for this one any longer. */
  async stop(): Promise<void> {
    if (this.#stopBeats === undefined) return;
    this.#stopBeats();
    this.#cancelRelay?.();
    await this.#options.cache.publish(`${this.#name} ${this.#changes} leave`).catch(() => undefined);
  }

  /**
   * For durable changes. Resolves when every process has been notified, or a little later if some cannot be reached.
   */
  async announce(codes: readonly string[]): Promise<void> {
    for (const code of codes) this.#forget(code);
    for (let from = 0; from < codes.length; from += codesPerMessageMax) {
      await this.#announceSome(codes.slice(from, from + codesPerMessageMax));
    }
  }

  /** Announces a change of an account or a key. */
  async announceAccount(change: string): Promise<void> {
    this.#options.onAccountChange(change);
    await this.#publish(`account ${change}`);
  }

  /** For every change that the store's feed reports, made by this process or by another. */
  heard(code: string): void {
    this.#forget(code);
    if (this.#duplicates.report(code, 'feed')) return;
    this.changesByFeedOnly += 1;
    const { trust, clock, random } = this.#options;
    trust.owe([code]);
    if (this.#unpublished.size === 0)
      this.#cancelRelay = clock.after(relayWithinMs * random.float(), () => void this.#relay());
    this.#unpublished.add(code);
  }

  async #announceSome(codes: readonly string[]): Promise<void> {
    const unfenced = await this.#options.trust.fence(codes);
    const fenced = codes.filter(code => !unfenced.has(code));
    for (const code of fenced) this.#duplicates.report(code, 'message');
    await this.#publish(`links ${fenced.join()} ${[...unfenced].join()}`);
  }

  async #relay(): Promise<void> {
    const codes = [...this.#unpublished];
    this.#unpublished.clear();
    for (let from = 0; from < codes.length; from += codesPerMessageMax)
      await this.#announceSome(codes.slice(from, from + codesPerMessageMax));
  }

  async #publish(change: string): Promise<void> {
    this.#changes += 1;
    this.#keep(change);
    try {
      await this.#options.cache.publish(`${this.#name} ${this.#changes} ${change}`);
      this.messagesSent += 1;
    } catch {
      // The feed reports it a moment later, and the next heartbeat that arrives shows that a message is missing.
      this.messagesFailed += 1;
    }
  }

  #beat(): void {
    const { cache, clock } = this.#options;
    // Receivers notice a missing heartbeat.
    cache.publish(`${this.#name} ${this.#changes} beat ${clock.monotonicMs()}`).catch(() => undefined);
  }

  #hear(message: string): void {
    const { freshness, onAccountChange } = this.#options;
    const [sender = '', digits = '', kind, first = '', second = ''] = message.split(' ');
    const isOwn = sender === this.#name;
    const number = Number(digits);
    if (!Number.isSafeInteger(number) || digits === '') return;
    if (isOwn) {
      if (kind === 'beat') freshness.hearOwnBeat(sender, Number(first));
    } else if (kind === 'want') {
      this.#repeat(first, second);
    } else if (kind === 'beat' || kind === 'leave') {
      const isContiguous =
        kind === 'beat' ? freshness.hearBeat(sender, number) : freshness.leave(sender, number);
      if (!isContiguous) this.#miss(sender);
    } else if (kind === 'links' || kind === 'account') {
      this.messagesReceived += 1;
      const reception = freshness.hearChange(sender, number);
      if (kind === 'links') this.#hearLinks(first, second, reception);
      else if (accountChangePattern.test(first)) onAccountChange(first);
      if (reception === 'gap') this.#miss(sender);
    }
  }

  #hearLinks(fenced: string, unfenced: string, reception: Reception): void {
    for (const code of codesIn(fenced)) {
      this.#forget(code);
      if (reception !== 'repeat') this.#duplicates.report(code, 'message');
    }
    for (const code of codesIn(unfenced)) this.#forget(code);
  }

  #miss(sender: string): void {
    const { freshness, cache, onMissed } = this.#options;
    onMissed();
    const missing = freshness.missingOf(sender).join();
    if (missing !== '')
      cache.publish(`${this.#name} ${this.#changes} want ${sender} ${missing}`).catch(() => undefined);
  }

  #keep(change: string): void {
    this.#sent.set(this.#changes, { change, repeatedAtMs: Number.NEGATIVE_INFINITY });
    this.#sentLength += change.length;
    for (const [number, { change: oldest }] of this.#sent) {
      if (this.#sent.size <= missingMax && this.#sentLength <= sentLengthMax) return;
      this.#sent.delete(number);
      this.#sentLength -= oldest.length;
    }
  }

  /** Repeats messages that another process has missed. Often several have missed them, so a repetition is for all. */
  #repeat(wantedOf: string, numbers: string): void {
    if (wantedOf !== this.#name) return;
    const { cache, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const number of numbers.split(',').slice(0, missingMax).map(Number)) {
      const sent = this.#sent.get(number);
      if (sent === undefined || nowMs - sent.repeatedAtMs < repeatAgainMs) continue;
      sent.repeatedAtMs = nowMs;
      cache.publish(`${this.#name} ${number} ${sent.change}`).catch(() => undefined);
    }
  }

  #forget(code: string): void {
    this.#unpublished.delete(code);
    this.#options.trust.noteChange(code);
    this.#options.forget(code);
  }
}

/** Drops anything that is not a code: no process of ours sent it. */
function codesIn(list: string): string[] {
  return list.split(',').filter(code => codePattern.test(code));
}

/**
 * Every change is reported twice, by a message and by the store's feed, in either order. This class matches the pairs
 * and so finds changes that only the feed reported: the process that made them died or was cut off before it could
 * publish them.
 */
export type ChangeSource = 'message' | 'feed';

interface Unpaired {
  /** Messages minus reports of the feed. */
  readonly lead: number;
  readonly atMs: number;
}

/**
 * After this time a counterpart is no longer expected. Short, because a stray message would match a later change.
 */
const timeoutMs = 5_000;
const codesMax = 20_000;

export class ChangeDeduplicator {
  readonly #clock: Clock;
  readonly #unpaired = new Map<string, Unpaired>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True when the other source has already reported this change. */
  report(code: string, source: ChangeSource): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#forgetOld(nowMs);
    const before = this.#unpaired.get(code)?.lead ?? 0;
    const lead = before + (source === 'message' ? 1 : -1);
    this.#unpaired.delete(code);
    if (lead !== 0) this.#unpaired.set(code, { lead, atMs: nowMs });
    return Math.abs(lead) < Math.abs(before);
  }

  #forgetOld(nowMs: number): void {
    for (const [code, { atMs }] of this.#unpaired) {
      if (nowMs - atMs < timeoutMs && this.#unpaired.size <= codesMax) return;
      this.#unpaired.delete(code);
    }
  }
}
