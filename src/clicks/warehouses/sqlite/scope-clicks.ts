/** Clicks of the scope that is being written to a run, on their way into its summary. */
import { grainMs } from '../../warehouse.ts';
import { isHuman, type Rows } from './chunk.ts';
import { SummaryBuilder, type SummaryRow, slotCount } from './summary.ts';

/** A scope with this many clicks in a run has a summary. */
const summaryClicksMin = 1_024;

export interface Slice {
  readonly code: string;
  readonly rows: Rows;
  readonly from: number;
  readonly to: number;
}

/** Clicks of the scope that is being written: held until they are many, and summarised from then on. */
export class ScopeClicks {
  readonly #listsLinks: boolean;
  readonly #clicksMin: number;
  #held: { readonly all: Slice; readonly links: readonly Slice[] }[] = [];
  #replayed: Slice[] = [];
  #count = 0;
  /** The last link: its only piece, or how many people clicked in each slot once there are several. */
  #piece: Slice | undefined;
  #bySlot: Uint32Array | undefined;
  builder: SummaryBuilder | undefined;

  constructor(listsLinks: boolean, clicksMin = summaryClicksMin) {
    this.#listsLinks = listsLinks;
    this.#clicksMin = clicksMin;
  }

  /** `links` are the same clicks, link by link. */
  add(all: Slice, links: readonly Slice[] = noLinks): void {
    if (all.from === all.to) return;
    if (this.builder !== undefined) {
      this.#build(all, links);
      return;
    }
    this.#held.push({ all, links });
    this.#count += all.to - all.from;
    if (this.#count >= this.#clicksMin) this.#begin();
  }

  addSummary(summary: SummaryRow): void {
    if (this.builder === undefined) this.#begin();
    this.builder!.addSummary(summary);
  }

  /** What was held when it became a summary, once. */
  takeReplayed(): readonly Slice[] {
    const replayed = this.#replayed;
    this.#replayed = [];
    return replayed;
  }

  finish(keepsMinutes: boolean): SummaryRow {
    this.#endLink();
    return this.builder!.finish(keepsMinutes);
  }

  clear(): void {
    if (this.#held.length > 0) this.#held = [];
    this.#replayed = [];
    this.#count = 0;
    this.#piece = undefined;
    this.#bySlot = undefined;
    this.builder = undefined;
  }

  #begin(): void {
    this.builder = new SummaryBuilder();
    const held = this.#held;
    this.#held = [];
    for (const { all, links } of held) this.#build(all, links);
    this.#replayed = held.flatMap(({ links }) => links);
  }

  #build({ rows, from, to }: Slice, links: readonly Slice[]): void {
    this.builder!.add(rows, from, to);
    if (!this.#listsLinks) return;
    for (const slice of links) {
      if (this.#piece?.code === slice.code) {
        this.#bySlot ??= peopleBySlot(this.#piece, new Uint32Array(slotCount));
        peopleBySlot(slice, this.#bySlot);
      } else {
        this.#endLink();
        this.#piece = slice;
      }
    }
  }

  #endLink(): void {
    const piece = this.#piece;
    if (piece === undefined) return;
    if (this.#bySlot === undefined) this.builder!.addLink(piece);
    else this.builder!.addLinkSlots(piece.code, this.#bySlot);
    this.#piece = undefined;
    this.#bySlot = undefined;
  }
}

function peopleBySlot({ rows, from, to }: Slice, bySlot: Uint32Array): Uint32Array {
  for (let index = from; index < to; index += 1)
    if (isHuman(rows.kind[index]!)) bySlot[Math.floor(rows.at[index]! / grainMs.quarter)]! += 1;
  return bySlot;
}

const noLinks: readonly Slice[] = [];
