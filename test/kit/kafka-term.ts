/** Waits for a group's term, which takes a moment after its brokers start and during a rebalance. */
const waitMaxMs = 90_000;
const pollMs = 50;

export async function termOf<Term>(
  group: { term(): Promise<Term> },
  isWanted = (_: Term) => true,
): Promise<Term> {
  for (const untilMs = performance.now() + waitMaxMs; ; await Bun.sleep(pollMs)) {
    const [outcome] = await Promise.allSettled([group.term()]);
    if (outcome.status === 'fulfilled' && isWanted(outcome.value)) return outcome.value;
    if (performance.now() < untilMs) continue;
    throw new Error('there was no such term', outcome.status === 'rejected' ? { cause: outcome.reason } : {});
  }
}
