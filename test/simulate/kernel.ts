/**
 * Time, order and chance of a simulated installation, all from one seed. Everything that happens is an event of a
 * party (a process, an engine, a client) at a moment of virtual time; between two events all promises settle. So the
 * same seed gives the same run, and a failure can be repeated and read in the trace.
 *
 * A party that is paused gets its events when it goes on, one that is down never gets those of its former life. That is
 * a crash at an await: code of a dead process stays where it waits, for good.
 */
import type { Clock } from '../../src/base/clock.ts';
import { type Random, seededRandom } from '../../src/base/random.ts';

/** The platform's own, before `holdPlatform` replaces it. */
const platformImmediate = globalThis.setImmediate;

interface SimEvent {
  readonly dueMs: number;
  readonly order: number;
  readonly party: Party;
  readonly life: number;
  readonly run: () => void;
  isCancelled: boolean;
}

export class Party {
  readonly name: string;
  readonly kernel: Kernel;
  state: 'up' | 'paused' | 'down' = 'up';
  /** Grows with each crash: events of an earlier life never run. */
  life = 0;
  /** When it was last paused, and when it went on. */
  pausedMs = 0;
  resumedMs = 0;
  /** How far its wall clock is from true time, and how fast its clock runs. */
  skewMs = 0;
  rate = 1;
  #waiting: SimEvent[] = [];

  constructor(kernel: Kernel, name: string) {
    this.kernel = kernel;
    this.name = name;
  }

  crash(): void {
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
    this.pausedMs = this.kernel.nowMs;
  }

  resume(): void {
    if (this.state !== 'paused') return;
    this.state = 'up';
    this.resumedMs = this.kernel.nowMs;
    for (const event of this.#waiting.splice(0)) this.kernel.again(event);
  }

  /** For the kernel: whether the event may run now; one of a paused party is kept. */
  admits(event: SimEvent): boolean {
    if (event.isCancelled || event.life !== this.life || this.state === 'down') return false;
    if (this.state === 'up') return true;
    this.#waiting.push(event);
    return false;
  }

  /** Runs `task` in this life of the party; the returned function cancels it. */
  after(delayMs: number, task: () => void): () => void {
    return this.kernel.schedule(this, delayMs, task);
  }

  clock(): Clock {
    const { kernel } = this;
    const life = this.life;
    const delay = (ms: number): number => Math.max(0, ms) / this.rate;
    return {
      now: () => Math.floor(kernel.nowMs + this.skewMs),
      monotonicMs: () => (kernel.nowMs - kernel.startMs) * this.rate,
      after: (delayMs, task) => (this.life === life ? this.after(delay(delayMs), task) : () => {}),
      every: (periodMs, task) => {
        let cancel = (): void => {};
        const next = (): void => {
          cancel = this.after(delay(periodMs), () => {
            next();
            task();
          });
        };
        if (this.life === life) next();
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
  /** The network, the nemesis: what no process runs. */
  readonly outside = new Party(this, 'outside');
  /** The party whose event runs. */
  current = this.outside;
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

  schedule(party: Party, delayMs: number, run: () => void): () => void {
    const event: SimEvent = {
      dueMs: this.nowMs + delayMs,
      order: this.#nextOrder(),
      party,
      life: party.life,
      run,
      isCancelled: false,
    };
    this.#push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  /** The event of a party that was paused. */
  again(event: SimEvent): void {
    this.#push({ ...event, dueMs: this.nowMs, order: this.#nextOrder() });
  }

  /** Runs everything that is due until then. */
  async runUntil(untilMs: number): Promise<void> {
    for (let event = this.#heap[0]; event !== undefined && event.dueMs <= untilMs; event = this.#heap[0]) {
      this.#pop();
      this.nowMs = Math.max(this.nowMs, event.dueMs);
      if (!event.party.admits(event)) continue;
      this.events += 1;
      this.current = event.party;
      event.run();
      await new Promise<void>(resolve => platformImmediate(resolve));
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

/**
 * Makes the platform's own time and chance those of the simulation, so that code which passes by the ports is simulated
 * too, and no run depends on the machine. The returned function undoes it.
 */
export function holdPlatform(kernel: Kernel): () => void {
  const own = {
    setImmediate: globalThis.setImmediate,
    setTimeout: globalThis.setTimeout,
    setInterval: globalThis.setInterval,
    dateNow: Date.now,
    performanceNow: performance.now,
    mathRandom: Math.random,
    getRandomValues: crypto.getRandomValues,
  };
  const partyNow = (): Party => kernel.current;
  const timer = (cancel: () => void) => Object.assign(cancel, { unref: () => {}, ref: () => {} });
  globalThis.setImmediate = ((task: () => void) => timer(partyNow().after(0, task))) as never;
  globalThis.setTimeout = ((task: () => void, delayMs = 0) =>
    timer(partyNow().clock().after(delayMs, task))) as never;
  globalThis.setInterval = ((task: () => void, periodMs = 1) =>
    timer(partyNow().clock().every(periodMs, task))) as never;
  Date.now = () => Math.floor(kernel.nowMs);
  performance.now = () => kernel.nowMs - kernel.startMs;
  Math.random = () => kernel.random.float();
  crypto.getRandomValues = <Bytes>(bytes: Bytes): Bytes => {
    const view = bytes as unknown as Uint8Array;
    view.set(kernel.random.bytes(view.length));
    return bytes;
  };
  return () => {
    globalThis.setImmediate = own.setImmediate;
    globalThis.setTimeout = own.setTimeout;
    globalThis.setInterval = own.setInterval;
    Date.now = own.dateNow;
    performance.now = own.performanceNow;
    Math.random = own.mathRandom;
    crypto.getRandomValues = own.getRandomValues;
  };
}
