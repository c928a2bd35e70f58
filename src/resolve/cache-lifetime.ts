/**
 * How long the shared cache keeps what it knows of a code, by its kind. Lifetimes vary a little around what is set, so
 * that links cached together do not expire together.
 */
import type { Random } from '../base/random.ts';
import { type Link, stateOf } from '../links/link.ts';

export interface CacheLifetimes {
  /** A link that none of the other kinds describes. */
  readonly usualMs: number;
  /** Made within the last day. */
  readonly newMs: number;
  /** Still asked for when its time was nearly over. */
  readonly popularMs: number;
  readonly customMs: number;
  /** Expired, switched off or taken away: what answers 410. */
  readonly expiredMs: number;
  /** There is no such link. */
  readonly negativeMs: number;
}

const dayMs = 86_400_000;
const jitterShare = 0.1;

export const cacheLifetimesDefault: CacheLifetimes = {
  usualMs: dayMs,
  newMs: dayMs,
  popularMs: dayMs,
  customMs: dayMs,
  expiredMs: 3_600_000,
  negativeMs: 30_000,
};

export interface LifetimeSubject {
  readonly link: Link | undefined;
  readonly isPopular: boolean;
  readonly now: number;
}

export function lifetimeOf(subject: LifetimeSubject, lifetimes: CacheLifetimes, random: Random): number {
  return lifetimes[`${kindOf(subject)}Ms`] * (1 - jitterShare + 2 * jitterShare * random.float());
}

function kindOf({ link, isPopular, now }: LifetimeSubject) {
  if (link === undefined) return 'negative';
  const state = stateOf(link, now);
  if (state !== 'active' && state !== 'quarantined') return 'expired';
  if (isPopular) return 'popular';
  if (link.origin === 'custom') return 'custom';
  return now - link.createdAt < dayMs ? 'new' : 'usual';
}
