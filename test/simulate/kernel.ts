/**
 * Time, order and randomness of a simulated installation, all from one seed. Everything that happens is an event of a
 * party (a process, an engine, a client) at a moment of virtual time; between two events all promises settle. So the
 * same seed gives the same run, and a failure can be repeated and read in the trace.
 *
 * A paused party gets its events when it resumes; events of a former life never run. That is a crash at an await: code
 * of a dead process never continues.
 */
import type { Clock } from '../../src/base/clock.ts';
import { type Random, seededRandom } from '../../src/base/random.ts';

/** The platform's own, before `holdPlatform` (platform.ts) replaces it. */
const platformImmediate = globalThis.setImmediate;

interface SimEvent {
  dueMs: number;
  order: number;
  readonly party: Party;
  readonly life: number;
  readonly run: () => void;
  isCancelled: boolean;
}

interface ClockPiece {
  readonly fromMs: number;
  /** When it began. */
  readonly skewMs: number;
  readonly monotonicMs: number;
  readonly rate: number;
}

const skewAt = ({ fromMs, skewMs, rate }: ClockPiece, atMs: number): number =>
  skewMs + (atMs - fromMs) * (rate - 1);

export class Party {
  readonly name: string;
  readonly kernel: Kernel;
  state: 'up' | 'paused' | 'down' = 'up';
  /** Grows with each crash: events of an earlier life never run. */
  life = 0;
  /** When it was paused; the last pause may still be in progress. */
  readonly pauses: { readonly fromMs: number; toMs: number }[] = [];
  /** How its clocks have run: each piece until the next one begins. */
  readonly #clockPieces: ClockPiece[];
  #waiting: SimEvent[] = [];

  constructor(kernel: Kernel, name: string) {
    this.kernel = kernel;
    this.name = name;
    this.#clockPieces = [{ fromMs: kernel.nowMs, skewMs: 0, monotonicMs: 0, rate: 1 }];
  }

  /** How far its wall clock is from true time. */
  get skewMs(): number {
    return skewAt(this.#clockPieces.at(-1)!, this.kernel.nowMs);
  }

  /** Steps the wall clock, like an operator or NTP; the monotonic clock does not change. */
  set skewMs(skewMs: number) {
    this.#changeClock({ skewMs });
  }

  /** How fast both of its clocks run. */
  get rate(): number {
    return this.#clockPieces.at(-1)!.rate;
  }

  set rate(rate: number) {
    this.#changeClock({ rate });
  }

  get #monotonicMs(): number {
    const { fromMs, monotonicMs, rate } = this.#clockPieces.at(-1)!;
    return monotonicMs + (this.kernel.nowMs - fromMs) * rate;
  }

  #changeClock(change: Partial<ClockPiece>): void {
    const { skewMs, rate } = this;
    const fromMs = this.kernel.nowMs;
    this.#clockPieces.push({ fromMs, skewMs, monotonicMs: this.#monotonicMs, rate, ...change });
  }

  /** The smallest and the largest skew of its wall clock between these moments. */
  skewBetween(fromMs: number, toMs: number): readonly [number, number] {
    const skews = this.#clockPieces.flatMap((piece, index) => {
      const endMs = this.#clockPieces[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY;
      if (piece.fromMs > toMs || endMs < fromMs) return [];
      return [skewAt(piece, Math.max(fromMs, piece.fromMs)), skewAt(piece, Math.min(toMs, endMs))];
    });
    return [Math.min(...skews), Math.max(...skews)];
  }

  crash(): void {
    if (this.state === 'paused') this.pauses.at(-1)!.toMs = this.kernel.nowMs;
    this.state = 'down';
    this.life += 1;
    this.#waiting = [];
  }

  recover(): void {
    this.state = 'up';
  }

  pause(): void {
    if (this.state !== 'up') return;
    this.state = 'paused';
    this.pauses.push({ fromMs: this.kernel.nowMs, toMs: Number.POSITIVE_INFINITY });
  }

  resume(): void {
    if (this.state !== 'paused') return;
    this.state = 'up';
    this.pauses.at(-1)!.toMs = this.kernel.nowMs;
    for (const event of this.#waiting.splice(0)) this.kernel.again(event);
  }

  /** For the kernel: whether the event may run now; one of a paused party is kept. */
  admits(event: SimEvent): boolean {
    if (event.isCancelled || event.life !== this.life || this.state === 'down') return false;
    if (this.state === 'up') return true;
    this.#waiting.push(event);
    return false;
  }

  /** Whether the running code belongs to a life that has ended. */
  get isOver(): boolean {
    return this.state === 'down' || this.kernel.lifeOf(this) !== this.life;
  }

  /** Runs `task` in this life of the party, or never; the returned function cancels it. */
  after(delayMs: number, task: () => void, life = this.kernel.lifeOf(this)): () => void {
    return this.kernel.schedule(this, delayMs, task, life);
  }

  clock(): Clock {
    const { kernel } = this;
    const life = kernel.lifeOf(this);
    const delay = (ms: number): number => Math.max(0, ms) / this.rate;
    return {
      now: () => Math.floor(kernel.nowMs + this.skewMs),
      monotonicMs: () => this.#monotonicMs,
      after: (delayMs, task) => this.after(delay(delayMs), task, life),
      every: (periodMs, task) => {
        let cancel = (): void => {};
        const next = (): void => {
          cancel = this.after(
            delay(periodMs),
            () => {
              next();
              task();
            },
            life,
          );
        };
        next();
        return () => cancel();
      },
    };
  }
}

export class Kernel {
  readonly seed: number;
  readonly random: Random;
  readonly startMs = Date.UTC(2026, 6, 1);
  nowMs = this.startMs;
  /** The party of events that no process runs, such as network and faults. */
  readonly outside = new Party(this, 'outside');
  /** The party whose event runs, and its life at the start of the event. */
  current = this.outside;
  #currentLife = 0;
  events = 0;
  /** The latest lines; older ones are dropped. */
  readonly trace: string[] = [];
  readonly #traceMax: number;
  readonly #heap: SimEvent[] = [];
  #order = 0;
  #digest = 0;

  constructor(seed: number, traceMax = 400) {
    this.seed = seed;
    this.#traceMax = traceMax;
    this.random = seededRandom(seed);
  }

  /** A number from `from` up to and including `to`. */
  between(from: number, to: number): number {
    return from + Math.floor(this.random.float() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.random.float() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.between(0, items.length - 1)]!;
  }

  /** A hash of all that was traced: equal for equal runs. */
  get digest(): number {
    return this.#digest;
  }

  note(text: string): void {
    const line = `${((this.nowMs - this.startMs) / 1_000).toFixed(4).padStart(9)} ${text}`;
    this.#digest = Bun.hash.xxHash32(line, this.#digest);
    this.trace.push(line);
    if (this.trace.length > this.#traceMax) this.trace.shift();
  }

  /** The life of the party in which its current code runs. */
  lifeOf(party: Party): number {
    return party === this.current ? this.#currentLife : party.life;
  }

  schedule(party: Party, delayMs: number, run: () => void, life = this.lifeOf(party)): () => void {
    const event: SimEvent = {
      dueMs: this.nowMs + delayMs,
      order: this.#nextOrder(),
      party,
      life,
      run,
      isCancelled: false,
    };
    this.#push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  /** Reschedules the event of a party that was paused. */
  again(event: SimEvent): void {
    event.dueMs = this.nowMs;
    event.order = this.#nextOrder();
    this.#push(event);
  }

  /** Runs everything that is due until then. */
  async runUntil(untilMs: number): Promise<void> {
    for (let event = this.#heap[0]; event !== undefined && event.dueMs <= untilMs; event = this.#heap[0]) {
      this.#pop();
      this.nowMs = Math.max(this.nowMs, event.dueMs);
      if (!event.party.admits(event)) continue;
      this.events += 1;
      this.current = event.party;
      this.#currentLife = event.life;
      event.run();
      await new Promise<void>(resolve => platformImmediate(resolve));
      this.current = this.outside;
      this.#currentLife = this.outside.life;
    }
    this.nowMs = untilMs;
  }

  #nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  #push(event: SimEvent): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

const isBefore = (one: SimEvent, other: SimEvent): boolean =>
  one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order);
