/**
 * What clients saw, and what it allows. The history knows of a link only what its callers learned: a change that was
 * acknowledged has happened, one that was rejected has not, and any other may have. Whatever a process answers must fit
 * one of the states that the link may have been in, at most the stated bound ago.
 */
import type { ProcessLife } from './reach.ts';

export class Violation extends Error {
  override readonly name = 'Violation';
}

/** Where a link leads: a URL, or nowhere. */
export type Destination = string | 'gone';

interface PossibleState {
  readonly destination: Destination;
  /** From when on it can have been so: when the change was asked for. */
  readonly fromMs: number;
  /** When a later change was acknowledged, and by which process; undefined while it can be so. */
  ended: { readonly atMs: number; readonly by: ProcessLife } | undefined;
  /** Nobody knows whether it happened, and it may still: its request may wait in a process that is paused. */
  isInDoubt?: boolean;
}

/** An answer: when it was asked for and given. */
export interface Answered {
  readonly destination: Destination;
  readonly askedMs: number;
  readonly answeredMs: number;
  /** The smallest and the largest skew of the clock of the process between these moments. */
  readonly skewMs: readonly [number, number];
}

export class LinkHistory {
  readonly code: string;
  readonly owner: number;
  readonly acknowledgedMs: number;
  readonly states: PossibleState[];
  /** From then on it is gone, by the clock of the process that is asked. Such a link is never changed. */
  readonly expiresMs: number;
  /** One change at a time, so that acknowledged changes are in order. */
  isBusy = false;
  isDeleted = false;

  constructor(
    code: string,
    owner: number,
    longUrl: string,
    { askedMs, acknowledgedMs, expiresMs = Number.POSITIVE_INFINITY }: LinkTimes,
  ) {
    this.code = code;
    this.owner = owner;
    this.acknowledgedMs = acknowledgedMs;
    this.expiresMs = expiresMs;
    this.states = [{ destination: longUrl, fromMs: askedMs, ended: undefined }];
  }

  get mayChange(): boolean {
    return !this.isBusy && !this.isDeleted && this.expiresMs === Number.POSITIVE_INFINITY;
  }

  /** A change is asked for: from now on it may have happened. */
  ask(destination: Destination, askedMs: number): PossibleState {
    const state = { destination, fromMs: askedMs, ended: undefined };
    this.states.push(state);
    return state;
  }

  /** It has happened, and ended every other state that is not in doubt. */
  acknowledge(changed: PossibleState, atMs: number, by: ProcessLife): void {
    for (const state of this.states)
      if (state !== changed && state.isInDoubt !== true) state.ended ??= { atMs, by };
  }

  /** It has not happened. */
  retract(changed: PossibleState): void {
    this.states.splice(this.states.indexOf(changed), 1);
  }

  /** Whether the link can have been in a state in which the answer is right; `mayBeStale`: although it has ended. */
  allows(answer: Answered, mayBeStale: (ended: NonNullable<PossibleState['ended']>) => boolean): boolean {
    const { destination, askedMs, answeredMs, skewMs } = answer;
    if (destination === 'gone' && answeredMs + skewMs[1] >= this.expiresMs) return true;
    if (askedMs + skewMs[0] >= this.expiresMs) return false;
    return this.states.some(
      state =>
        state.destination === destination &&
        state.fromMs <= answeredMs &&
        (state.ended === undefined || askedMs <= state.ended.atMs || mayBeStale(state.ended)),
    );
  }

  /** For a report: its states, in seconds after the start. */
  describe(startMs: number): string {
    const seconds = (atMs: number): string => ((atMs - startMs) / 1_000).toFixed(3);
    const states = this.states.map(({ destination, fromMs, ended, isInDoubt }) => {
      const until = ended === undefined ? '' : `${seconds(ended.atMs)} (terse-${ended.by.process})`;
      return `${destination} ${seconds(fromMs)}–${until}${isInDoubt === true ? ' in doubt' : ''}`;
    });
    return (
      states.join(', ') + (Number.isFinite(this.expiresMs) ? `, expires ${seconds(this.expiresMs)}` : '')
    );
  }
}

interface LinkTimes {
  readonly askedMs: number;
  readonly acknowledgedMs: number;
  readonly expiresMs?: number;
}
