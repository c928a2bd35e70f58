/**
 * Limits that the processes of many machines share. Buckets that Redis keeps together are taken from in one step. In a
 * Cluster each bucket may live at another server: then they are taken from one after the other, and when one refuses,
 * or its server fails, the ones before it get back what was taken.
 * Invariant: of a bucket never more is taken than is in it. Between a taking and its giving back somebody else may be
 * refused who would have been served a moment later; nobody is served who would have been refused.
 */
import type { Redis, RedisReply, RedisScript, RedisValue } from '../../../engines/redis/redis.ts';
import { aheadMaxMs, type BucketLevel, takeFromAll } from '../../bucket.ts';
import type { BucketState, LimitDecision, RateLimiter, Spending } from '../../rate-limit.ts';
import { hashedKey } from '../hashed-key.ts';
import { giveBackScript, takeScript } from './scripts.ts';

export interface RedisLimiterOptions {
  readonly secret: Uint8Array;
  /** Two installations may share a Redis under different names. */
  readonly name?: string;
  readonly deadlineMs?: number;
  /**
   * Whose clock counts. The caller's is for tests that make time pass; buckets then outlive it, because Redis's time
   * passes all the same.
   */
  readonly clock?: 'redis' | 'caller';
}

/** Longer than a cache may take: a decision that is late is still right, one that is made alone is only bounded. */
const limitDeadlineMs = 1_000;
const callersKeepLongerMs = 3_600_000;

type PlacedSpending = Spending & { readonly place: string };

/** What is known of some buckets since Redis was asked for them. */
interface Answer {
  readonly spendings: readonly PlacedSpending[];
  readonly kept: readonly (BucketLevel | undefined)[];
  /** By the clock that counts. */
  readonly at: number;
  readonly decision: LimitDecision;
}

/** Does not close `redis`. */
export function createRedisLimiter(
  redis: Pick<Redis, 'areTogether' | 'run'>,
  options: RedisLimiterOptions,
): RateLimiter {
  const { secret, name = 'terse', deadlineMs = limitDeadlineMs, clock = 'redis' } = options;
  const keepLongerMs = clock === 'caller' ? callersKeepLongerMs : 0;

  const run = (
    script: RedisScript,
    spendings: readonly PlacedSpending[],
    costOf: (spending: Spending) => number,
    now: number,
    ...more: RedisValue[]
  ): Promise<RedisReply> => {
    const keys = spendings.map(({ place }) => place);
    const numbers = spendings.flatMap(spending => [
      spending.rate.count,
      spending.rate.periodMs,
      spending.capacity,
      costOf(spending),
    ]);
    const times = [clock === 'caller' ? now : '', aheadMaxMs, keepLongerMs];
    return redis.run(script, keys, [...times, ...numbers, ...more], deadlineMs);
  };

  /** Also what only looks learns from the answer what taking would have led to. */
  const ask = async (
    spendings: readonly PlacedSpending[],
    isTaking: boolean,
    now: number,
  ): Promise<Answer> => {
    const reply = await run(takeScript, spendings, ({ cost }) => (isTaking ? cost : 0), now);
    const [at, ...kept] = reply as readonly RedisReply[];
    const levels = kept.map(levelOf);
    const { decision } = takeFromAll(spendings, levels, Number(at));
    return { spendings, kept: levels, at: Number(at), decision };
  };

  /** What cannot be given back comes back with time, as if it had been used. */
  const giveBack = async (answers: readonly Answer[], now: number): Promise<void> => {
    const taken = answers.filter(({ decision }) => decision.allowed);
    await Promise.allSettled(
      taken.map(({ spendings, at }) => run(giveBackScript, spendings, ({ cost }) => cost, now, at)),
    );
  };

  return {
    async take(spendings, now) {
      const placed = spendings.map(spending => ({
        ...spending,
        place: `${name}:limit:${hashedKey(secret, spending.key).toString('base64url')}`,
      }));
      const areTogether = placed.length > 1 && redis.areTogether(placed.map(({ place }) => place));
      const groups = areTogether ? [placed] : placed.map(spending => [spending]);

      const taken: Answer[] = [];
      const looked: Answer[] = [];
      try {
        for (const group of groups) {
          const isTaking = looked.length === 0;
          const answer = await ask(group, isTaking, now);
          (isTaking && answer.decision.allowed ? taken : looked).push(answer);
        }
      } catch (error) {
        await giveBack(taken, now);
        throw error;
      }
      if (looked.length === 0) return allowed(taken);
      await giveBack(taken, now);
      return refused([...taken, ...looked]);
    },
    async close() {},
  };
}

/** What nobody understands is taken for nothing, here as in the scripts. */
function levelOf(kept: RedisReply): BucketLevel | undefined {
  const match = /^(\d+) (\d+)$/.exec(String(kept));
  return match === null ? undefined : { spentGrains: Number(match[1]), at: Number(match[2]) };
}

function allowed(answers: readonly Answer[]): LimitDecision {
  return { allowed: true, retryAfterMs: 0, buckets: answers.flatMap(({ decision }) => decision.buckets) };
}

/** Each bucket is told as it is with nothing taken, and with how long it alone would make the request wait. */
function refused(answers: readonly Answer[]): LimitDecision {
  const buckets = answers.flatMap(({ spendings, kept, at, decision }): BucketState[] => {
    const free = spendings.map(spending => ({ ...spending, cost: 0 }));
    const untouched = takeFromAll(free, kept, at).decision.buckets;
    return untouched.map((bucket, n) => ({ ...bucket, waitMs: decision.buckets[n]!.waitMs }));
  });
  return { allowed: false, retryAfterMs: Math.max(...buckets.map(({ waitMs }) => waitMs)), buckets };
}
