/**
 * How long a client may take, in ticks of a second. A connection that began to wait between two ticks has waited up
 * to one less than it counts, so nobody is cut off early by more than that, and a slow head or body within ten.
 */

const headMaxTicks = 9;
/** Who said goodbye hardly waits for an answer that takes so long. */
const answerMaxTicks = 75;
const lingerMaxTicks = 2;
/** How long an idle client's headers are kept for comparison. */
const rememberMaxTicks = 5;
/** Beyond the first seconds a body has to come at this pace. */
const bodyMinBytesPerTick = 8 * 1024;

export const patience = {
  isHeadLate: (waitedTicks: number): boolean => waitedTicks >= headMaxTicks,
  isBodyLate: (waitedTicks: number, receivedBytes: number): boolean =>
    waitedTicks >= headMaxTicks + receivedBytes / bodyMinBytesPerTick,
  isForgettable: (waitedTicks: number): boolean => waitedTicks === rememberMaxTicks,
  isAnswerTooLate: (waitedTicks: number): boolean => waitedTicks >= answerMaxTicks,
  /** To read the last answer. */
  isFarewellOver: (waitedTicks: number): boolean => waitedTicks >= lingerMaxTicks,
} as const;
