/**
 * When visitors come. In a closed loop the next one comes when the last was answered, which measures how much a
 * server can do. Paced visitors come at their appointed time whatever the server does, and have waited since then
 * when at last they are answered: a stall counts for everybody who came during it.
 */
export interface Arrivals {
  /** When the visitor who is next came, who is taken with this; undefined while nobody waits. */
  next(nowNs: number): number | undefined;
  /** Whether everybody who will ever come was taken. */
  readonly isOver: boolean;
  /** Visitors who had waited for too long before it was their turn. */
  readonly gaveUp: number;
}

/** One after the other, as long as somebody asks. */
export const closedLoop: Arrivals = { next: nowNs => nowNs, isOver: false, gaveUp: 0 };

export interface Pace {
  readonly startNs: number;
  readonly perSecond: number;
  /** How many come in all. */
  readonly count: number;
  /** How long one waits before leaving. */
  readonly patienceNs: number;
}

export class PacedArrivals implements Arrivals {
  readonly #pace: Pace;
  readonly #stepNs: number;
  #taken = 0;
  gaveUp = 0;

  constructor(pace: Pace) {
    this.#pace = pace;
    this.#stepNs = 1e9 / pace.perSecond;
  }

  get isOver(): boolean {
    return this.#taken >= this.#pace.count;
  }

  next(nowNs: number): number | undefined {
    const { startNs, count, patienceNs } = this.#pace;
    const goneCount = Math.min(count, Math.ceil((nowNs - patienceNs - startNs) / this.#stepNs));
    if (goneCount > this.#taken) {
      this.gaveUp += goneCount - this.#taken;
      this.#taken = goneCount;
    }
    const dueNs = startNs + this.#taken * this.#stepNs;
    if (this.isOver || dueNs > nowNs) return undefined;
    this.#taken += 1;
    return dueNs;
  }
}
