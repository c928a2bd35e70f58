/** Bounds on the time of work: by a signal that the work obeys, or by no longer waiting for it. */
import { type Clock, yieldToEventLoop } from './clock.ts';

/** Runs the work with a signal that aborts when the time is over; the work decides how it then fails. */
export async function withSignal<Result>(
  clock: Clock,
  deadlineMs: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = new AbortController();
  const cancel = clock.after(deadlineMs, () => deadline.abort());
  try {
    return await work(deadline.signal);
  } finally {
    cancel();
  }
}

/** Settles as `work` does, or rejects with `late()` when that takes too long. What the work does later is ignored. */
export function withinDeadline<Result>(
  clock: Clock,
  deadlineMs: number,
  work: Promise<Result>,
  late: () => Error,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(deadlineMs, () => {
      // After a pause of this process the answer may have arrived unread: read it before reporting a timeout.
      void yieldToEventLoop().then(() => reject(late()));
    });
    work.then(
      value => {
        cancel();
        resolve(value);
      },
      error => {
        cancel();
        reject(error);
      },
    );
  });
}

/** Whether the work succeeded within the time; rejects when it fails in time. */
export function endsWithin(clock: Clock, deadlineMs: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(deadlineMs, () => resolve(false));
    work.then(() => resolve(true), reject).finally(cancel);
  });
}
