/** Says now and then how far a long walk has come, so that whoever waits sees it move. */
import type { Clock } from '../../base/clock.ts';

const everyMs = 5_000;

export class Teller {
  readonly #clock: Clock;
  readonly #tell: (line: string) => void;
  #part = '';
  #records = 0;
  #toldMs: number;
  #toldRecords = 0;

  constructor(clock: Clock, tell: (line: string) => void) {
    this.#clock = clock;
    this.#tell = tell;
    this.#toldMs = clock.monotonicMs();
  }

  count(part: string, records: number): void {
    if (part !== this.#part) {
      this.#part = part;
      this.#records = 0;
      this.#toldRecords = 0;
    }
    this.#records += records;
    const nowMs = this.#clock.monotonicMs();
    const passedMs = nowMs - this.#toldMs;
    if (passedMs < everyMs) return;
    const perS = Math.round(((this.#records - this.#toldRecords) / passedMs) * 1_000);
    this.#tell(`${part} ${this.#records.toLocaleString('en')} (${perS.toLocaleString('en')} a second)`);
    this.#toldMs = nowMs;
    this.#toldRecords = this.#records;
  }
}
