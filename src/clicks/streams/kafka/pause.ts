/**
 * A moment in which nobody counts what is in Kafka. Whoever counts is asked to plan nothing; once every plan is finished,
 * nothing is on its way into the warehouse, whoever has died or fallen asleep: what they had planned somebody else has
 * counted. Nobody needs to obey, because a plan that was made in the meantime shows.
 */
import { type Clock, sleep } from '../../../base/clock.ts';
import { Problem } from '../../../base/errors.ts';
import type { GroupProgress } from '../../../engines/kafka/group-progress.ts';
import type { CountingPause } from '../../counting-pause.ts';
import { planOf } from './group.ts';

export interface KafkaPauseOptions {
  readonly progress: Pick<GroupProgress, 'commits'>;
  readonly partitions: () => Promise<number>;
  readonly hold: { set(forMs: number): Promise<void>; clear(): Promise<void> };
  readonly clock: Clock;
}

/** By then everybody has asked whether counting is held, who asks each half second (hold.ts). */
const heardMs = 700;
/** Renewed for as long as it is needed, so that it ends soon when whoever asked for it does. */
const holdMs = 30_000;
const renewMs = 10_000;
const pollMs = 200;
/** A counter that was killed is missed after ten seconds, and then others have to count what it had planned. */
const finishMaxMs = 60_000;

export function createKafkaPause({ progress, partitions, hold, clock }: KafkaPauseOptions): CountingPause {
  type Plans = Awaited<ReturnType<typeof progress.commits>>;
  const plansNow = async (): Promise<Plans> => progress.commits(await partitions());

  async function finishedPlans(): Promise<Plans> {
    const untilMs = clock.monotonicMs() + finishMaxMs;
    for (;;) {
      const plans = await plansNow();
      if ([...plans.values()].every(commit => planOf(commit).to === undefined)) return plans;
      if (clock.monotonicMs() >= untilMs) {
        throw new Problem('stats_unavailable', {
          detail: 'Clicks are planned that nobody counts, so nothing was repaired. Is a worker running?',
        });
      }
      await sleep(clock, pollMs);
    }
  }

  return {
    async during(look, act) {
      await hold.set(holdMs);
      const stopRenewing = clock.every(renewMs, () => void hold.set(holdMs).catch(() => undefined));
      try {
        await sleep(clock, heardMs);
        const before = await finishedPlans();
        await look();
        if (!areSame(before, await plansNow())) return false;
        await act();
        return true;
      } finally {
        stopRenewing();
        await hold.clear().catch(() => undefined);
      }
    },
  };
}

function areSame(
  before: ReadonlyMap<number, { offset: number; metadata: string }>,
  now: typeof before,
): boolean {
  return (
    before.size === now.size &&
    [...before].every(([partition, { offset, metadata }]) => {
      const other = now.get(partition);
      return other?.offset === offset && other.metadata === metadata;
    })
  );
}
