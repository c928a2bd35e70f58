/**
 * The first thing a server does: it makes sure that its store is there. A store that is a server of its own may be away
 * for longer than a start should take, and then Terse neither gives up, to be started again and again, nor stays silent:
 * it listens, says what it waits for, and goes on when the store answers.
 */
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import type { Log } from '../ops/log.ts';
import { openCertificate } from './certificate.ts';
import type { Config } from './config.ts';
import { introducersOf } from './introducers.ts';
import { openStores } from './stores.ts';
import { WaitingRoom, type WaitingRoomOptions } from './waiting-room.ts';

export interface BeforeServing extends Pick<WaitingRoomOptions, 'doors'> {
  readonly log: Log;
  /** Whether the server was told to stop meanwhile. */
  readonly isGivenUp?: () => boolean;
}

/** Gives the room that visitors wait in, for whoever takes over the port to close. */
export async function untilStoreAnswers(
  config: Config,
  { doors, log, isGivenUp = () => false }: BeforeServing,
): Promise<WaitingRoom> {
  const clock = systemClock;
  const certificate = await openCertificate(config, clock, log);
  const isIntroducing = introducersOf(config);
  const { hstsMaxAgeS } = config;
  const identity = certificate?.identity;
  const room = new WaitingRoom({ doors, identity, hstsMaxAgeS, isIntroducing, clock, log });
  if (config.links === 'sqlite' || config.links === 'memory') return room;
  try {
    const patience = { waitMaxMs: Number.POSITIVE_INFINITY, onAway: () => room.open(), isGivenUp };
    const { links } = await openStores(config, { clock, random: systemRandom, log, patience });
    await links.close();
  } catch (error) {
    await room.close();
    if (!isGivenUp()) throw error;
  }
  return room;
}
