/** Summaries as questions read them; the same question is asked again and again. */
import type { Database } from 'bun:sqlite';
import { Sketch } from '../../sketch/sketch.ts';
import { RecentlyRead } from './recently-read.ts';
import { readMinutes, readWhole, type SummaryRow, type WholeLists } from './summary.ts';

type DayParts = Pick<SummaryRow, 'minutes' | 'whole' | 'visitors'>;
type SlotParts = Pick<SummaryRow, 'slots' | 'slot_visitors'>;

/** Parts are unpacked when they are first needed. */
export class DaySummary {
  readonly #row: DayParts;
  /** Of the quarter hours, which are large and asked for at the ends of a range only: so they are not kept. */
  readonly readSlotParts: () => SlotParts;
  #minutes: Uint32Array | undefined;
  #whole: WholeLists | undefined;
  #visitors: Sketch | undefined;

  constructor(row: DayParts, readSlotParts: () => SlotParts) {
    this.#row = row;
    this.readSlotParts = readSlotParts;
  }

  /** About how many bytes of memory it takes with everything unpacked, as measured: 80 to 150 KB with usual lists. */
  get memoryBytes(): number {
    const { minutes, whole, visitors } = this.#row;
    return 20_000 + 8 * (minutes.length + whole.length + visitors.length);
  }

  get minutes(): Uint32Array {
    this.#minutes ??= Uint32Array.from(readMinutes(this.#row).minutes);
    return this.#minutes;
  }

  get whole(): WholeLists {
    this.#whole ??= readWhole(this.#row);
    return this.#whole;
  }

  get visitors(): Sketch {
    this.#visitors ??= Sketch.from(this.#row.visitors);
    return this.#visitors;
  }
}

/** Enough for a few scopes of a month. */
const recentSummaries = new RecentlyRead<DaySummary>(({ memoryBytes }) => memoryBytes, 20_000_000);

export const findSummary = (database: Database, run: number, scope: string): DaySummary | undefined =>
  recentSummaries.get(database, `${run} ${scope}`, () => {
    const row = database
      .query<DayParts, [number, string]>(
        'SELECT minutes, whole, visitors FROM summaries WHERE run = ? AND scope = ?',
      )
      .get(run, scope);
    const slotParts = database.query<SlotParts, [number, string]>(
      'SELECT slots, slot_visitors FROM summaries WHERE run = ? AND scope = ?',
    );
    return row === null ? undefined : new DaySummary(row, () => slotParts.get(run, scope)!);
  });
