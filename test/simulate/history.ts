/**
 * The possible states of links, from what clients saw: an acknowledged change has happened, a rejected one has not, and
 * any other may have. Every answer must fit one of the states that the link may have had, at most the stated bound ago.
 */
import type { ProcessLife } from './reach.ts';

export class Violation extends Error {
  override readonly name = 'Violation';
}

/** The destination of a link: a URL, or none. */
export type Destination = string | 'gone';

interface PossibleState {
  readonly destination: Destination;
  /** From when on the link may have this state: when the change was requested. */
  readonly fromMs: number;
  /** When a later change was acknowledged, and by which process; undefined while the state is possible. */
  ended: { readonly atMs: number; readonly by: ProcessLife } | undefined;
  /** The outcome is unknown, and it may still happen: the request may wait in a paused process. */
  isInDoubt?: boolean;
}

/** An answer with the times of request and answer. */
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
  /** When it expires, by the clock of the answering process. Such a link is never changed. */
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

  /** Records the request of a change: from now on it may have happened. */
  ask(destination: Destination, askedMs: number): PossibleState {
    const state = { destination, fromMs: askedMs, ended: undefined };
    this.states.push(state);
    return state;
  }

  /** Records that the change has happened, which ends every other state that is not in doubt. */
  acknowledge(changed: PossibleState, atMs: number, by: ProcessLife): void {
    for (const state of this.states)
      if (state !== changed && state.isInDoubt !== true) state.ended ??= { atMs, by };
  }

  /** Records that the change has not happened. */
  retract(changed: PossibleState): void {
    this.states.splice(this.states.indexOf(changed), 1);
  }

  /** Whether a possible state explains the answer; `mayBeStale` decides about states that have ended. */
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
