/**
 * What clients saw, and what it allows. The history knows of a link only what its callers learned: a change that was
 * acknowledged has happened, one that was rejected has not, and any other may have. Whatever a process answers must fit
 * one of the states that the link may have been in, at most the stated bound ago.
 */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** Where a link leads: a URL, or nowhere. */
type Destination = string | 'gone';

interface PossibleState {
  readonly destination: Destination;
  /** From when on it can have been so: when the change was asked for. */
  readonly fromMs: number;
  /** Until when it can have been so: when a later change was acknowledged. */
  untilMs: number;
  /** Nobody knows whether it happened, and it may still: its request may wait in a process that is paused. */
  isInDoubt?: boolean;
  /** The process that acknowledged the end of this state. */
  endedBy: string | undefined;
}

export class LinkHistory {
  readonly code: string;
  readonly owner: number;
  readonly acknowledgedMs: number;
  readonly states: PossibleState[];
  /** One change at a time, so that acknowledged changes are in order. */
  isBusy = false;
  isDeleted = false;

  constructor(code: string, owner: number, longUrl: string, askedMs: number, acknowledgedMs: number) {
    this.code = code;
    this.owner = owner;
    this.acknowledgedMs = acknowledgedMs;
    this.states = [
      { destination: longUrl, fromMs: askedMs, untilMs: Number.POSITIVE_INFINITY, endedBy: undefined },
    ];
  }

  /** A change is asked for: from now on it may have happened. */
  ask(destination: Destination, askedMs: number): PossibleState {
    const state = { destination, fromMs: askedMs, untilMs: Number.POSITIVE_INFINITY, endedBy: undefined };
    this.states.push(state);
    return state;
  }

  /** It has happened, and ended every other state that is not in doubt. */
  acknowledge(changed: PossibleState, atMs: number, by: string): void {
    for (const state of this.states) {
      if (state === changed || state.isInDoubt === true || state.untilMs <= atMs) continue;
      state.untilMs = atMs;
      state.endedBy = by;
    }
  }

  /** It has not happened. */
  retract(changed: PossibleState): void {
    this.states.splice(this.states.indexOf(changed), 1);
  }

  /** From then on the link is gone, by the clock of whichever process is asked. */
  expire(atMs: number, toleranceMs: number): void {
    for (const state of this.states) state.untilMs = Math.min(state.untilMs, atMs + toleranceMs);
    this.states.push({
      destination: 'gone',
      fromMs: atMs - toleranceMs,
      untilMs: Number.POSITIVE_INFINITY,
      endedBy: undefined,
    });
  }

  /** The state in which an answer is right that was asked for and given at these times; undefined for none. */
  allows(
    destination: Destination,
    askedMs: number,
    answeredMs: number,
    boundMs: (state: PossibleState) => number,
  ): boolean {
    return this.states.some(
      state =>
        state.destination === destination &&
        state.fromMs <= answeredMs &&
        (state.untilMs === Number.POSITIVE_INFINITY || askedMs <= state.untilMs + boundMs(state)),
    );
  }
}
