/** The way from a code to its link: memory, horizon and the follower that keeps both true. */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Announce } from '../links/announcing-store.ts';
import type { LinkStore } from '../links/store.ts';
import { ChangeFollower } from '../resolve/change-follower.ts';
import { Horizon } from '../resolve/horizon.ts';
import { Resolver } from '../resolve/resolver.ts';
import type { Config } from './config.ts';
import type { Codes } from './generators.ts';

export interface ResolvingOptions {
  readonly config: Config;
  readonly store: LinkStore;
  readonly codes: Codes;
  readonly isFollowable: (longUrl: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly onError: (error: unknown) => void;
}

export interface Resolving {
  readonly resolver: Resolver;
  /** The records changed: after this no process serves what they were, for longer than messages travel. */
  readonly announce: Announce;
  stop(): void;
}

export async function startResolving(options: ResolvingOptions): Promise<Resolving> {
  const { config, store, codes, isFollowable, clock, random, onError } = options;
  // Codes of other strategies are not leased: the mark says nothing about them.
  const leasesCodes = config.codeStrategy === 'range';
  const horizon = new Horizon(leasesCodes ? codes.space.decode : () => undefined);
  const follower = new ChangeFollower({
    store,
    clock,
    horizon,
    codeLength: leasesCodes ? config.codeLength : undefined,
    onChange: code => resolver.invalidate(code),
    onGap: () => resolver.flush(),
    onError,
  });
  const resolver: Resolver = new Resolver({
    store,
    horizon,
    follower,
    isFollowable,
    clock,
    random,
    entriesMax: config.l1Entries,
    ttlMs: config.l1TtlMs,
    negativeTtlMs: config.negativeTtlMs,
  });
  await follower.start();
  return {
    resolver,
    announce: codes => codes.forEach(code => void resolver.invalidate(code)),
    stop: () => follower.stop(),
  };
}
