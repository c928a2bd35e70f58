/** The shared cache of one process in a test, on which any fault can be brought: it goes away, loses messages, forgets. */
import type { Clock } from '../../base/clock.ts';
import type { Link } from '../../links/link.ts';
import type { CacheEntry, LinkCache, MarkReading } from '../cache.ts';
import { createMemoryCache, type MemoryCacheContents } from './memory.ts';

export class FaultyCache implements LinkCache {
  readonly #cache: LinkCache;
  readonly #returnListeners: (() => void)[] = [];
  isAway = false;
  /** Whether only those who are patient get an answer in time. */
  isSlow = false;
  /** Whether it still answers, but takes in no record and no fence, as one whose memory is full. */
  isFull = false;
  /** Whether messages of others come through. */
  isDeaf = false;
  /** Whether messages of ours do. */
  isMute = false;
  /** Codes whose server alone is away. */
  readonly lost = new Set<string>();
  gets = 0;
  fences = 0;

  constructor(clock: Clock, contents: MemoryCacheContents) {
    this.#cache = createMemoryCache({ clock, contents });
  }

  /** Back from whatever it was. */
  return(): void {
    this.isAway = false;
    this.lost.clear();
    for (const listener of this.#returnListeners) listener();
  }

  async get(code: string, isPatient = false): Promise<CacheEntry | undefined> {
    this.#mustBeThere(code);
    if (this.isSlow && !isPatient) throw new Error('the cache is slow');
    this.gets += 1;
    return this.#cache.get(code);
  }

  async fill(code: string, link: Link | undefined, ttlMs: number): Promise<boolean> {
    this.#mustBeThere(code);
    if (this.isFull) throw new Error('the cache is full');
    return this.#cache.fill(code, link, ttlMs);
  }

  async fence(codes: readonly string[]): Promise<string[]> {
    if (this.isAway || this.isFull) return [...codes];
    const there = codes.filter(code => !this.lost.has(code));
    this.fences += there.length;
    await this.#cache.fence(there);
    return codes.filter(code => this.lost.has(code));
  }

  async readMark(): Promise<MarkReading> {
    this.#mustBeThere();
    return this.#cache.readMark();
  }

  async writeMark(seq: number, trustFromMs: number): Promise<number> {
    this.#mustBeThere();
    return this.#cache.writeMark(seq, trustFromMs);
  }

  onReturn(listener: () => void): void {
    this.#returnListeners.push(listener);
  }

  async publish(message: string): Promise<void> {
    this.#mustBeThere();
    if (!this.isMute) await this.#cache.publish(message);
  }

  onMessage(listener: (message: string) => void): void {
    this.#cache.onMessage(message => {
      if (!this.isAway && !this.isDeaf) listener(message);
    });
  }

  #mustBeThere(code = ''): void {
    if (this.isAway || this.lost.has(code)) throw new Error('the cache is away');
  }
}
