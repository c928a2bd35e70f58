/**
 * The shared cache of one process in a test, with faults on demand: it goes down, loses messages, loses its contents.
 */
import type { Clock } from '../../base/clock.ts';
import type { Link } from '../../links/link.ts';
import type { CacheEntry, CheckpointReading, LinkCache } from '../cache.ts';
import { createMemoryCache, type MemoryCacheContents } from './fake-memory.ts';

export class FaultyCache implements LinkCache {
  readonly #cache: LinkCache;
  readonly #returnListeners: (() => void)[] = [];
  isDown = false;
  /** Whether only patient callers get an answer in time. */
  isSlow = false;
  /** Whether it still answers, but accepts no record and no fence, like one whose memory is full. */
  isFull = false;
  /** Whether messages from other processes arrive. */
  isDeaf = false;
  /** Whether messages from this process arrive. */
  isMute = false;
  /** Codes whose server alone is down. */
  readonly lost = new Set<string>();
  gets = 0;
  fences = 0;

  constructor(clock: Clock, contents: MemoryCacheContents) {
    this.#cache = createMemoryCache({ clock, contents });
  }

  /** Recovers from any fault. */
  return(): void {
    this.isDown = false;
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
    if (this.isDown || this.isFull) return [...codes];
    const there = codes.filter(code => !this.lost.has(code));
    this.fences += there.length;
    await this.#cache.fence(there);
    return codes.filter(code => this.lost.has(code));
  }

  isAvailableFor(code: string): boolean {
    return !this.isDown && !this.lost.has(code);
  }

  async readCheckpoint(): Promise<CheckpointReading> {
    this.#mustBeThere();
    return this.#cache.readCheckpoint();
  }

  async writeCheckpoint(seq: number, trustFromMs: number): Promise<number> {
    this.#mustBeThere();
    return this.#cache.writeCheckpoint(seq, trustFromMs);
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
      if (!this.isDown && !this.isDeaf) listener(message);
    });
  }

  #mustBeThere(code = ''): void {
    if (this.isDown || this.lost.has(code)) throw new Error('the cache is down');
  }
}
