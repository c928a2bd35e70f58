/**
 * A value that is available at once, or later. Most steps of most requests have nothing to wait for, and promises for
 * all of them would cost more than the steps.
 */
export type NowOrLater<Value> = Value | Promise<Value>;

/** Passes the value to `next`, at once if it is available. A step that gets its `subject` needs no closure for it. */
export function following<Value, Next>(
  value: NowOrLater<Value>,
  next: (value: Value) => NowOrLater<Next>,
): NowOrLater<Next>;
export function following<Value, Next, Subject>(
  value: NowOrLater<Value>,
  next: (value: Value, subject: Subject) => NowOrLater<Next>,
  subject: Subject,
): NowOrLater<Next>;
export function following<Value, Next, Subject>(
  value: NowOrLater<Value>,
  next: (value: Value, subject: Subject) => NowOrLater<Next>,
  subject?: Subject,
): NowOrLater<Next> {
  return value instanceof Promise ? later(value, next, subject as Subject) : next(value, subject as Subject);
}

const later = <Value, Next, Subject>(
  value: Promise<Value>,
  next: (value: Value, subject: Subject) => NowOrLater<Next>,
  subject: Subject,
): Promise<Next> => value.then(settled => next(settled, subject));

/** Passes the value of `work` to `next`, or its error to `recover`, whether it comes at once or later. */
export function settling<Value, Next, Subject>(
  work: (subject: Subject) => NowOrLater<Value>,
  next: (value: Value, subject: Subject) => NowOrLater<Next>,
  recover: (error: unknown, subject: Subject) => NowOrLater<Next>,
  subject: Subject,
): NowOrLater<Next> {
  let value: NowOrLater<Value>;
  try {
    value = work(subject);
  } catch (error) {
    return recover(error, subject);
  }
  return value instanceof Promise ? settlingLater(value, next, recover, subject) : next(value, subject);
}

const settlingLater = <Value, Next, Subject>(
  value: Promise<Value>,
  next: (value: Value, subject: Subject) => NowOrLater<Next>,
  recover: (error: unknown, subject: Subject) => NowOrLater<Next>,
  subject: Subject,
): Promise<Next> =>
  value.then(
    settled => next(settled, subject),
    error => recover(error, subject),
  );
