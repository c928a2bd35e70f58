/** Routes to engines that fail and heal at random times until the flapping is stopped. */
import type { Random } from '../../src/base/random.ts';
import type { EngineRoute, LinkFault } from './outage-fleet.ts';

export interface Flapping {
  /** How often a route has failed so far. */
  readonly failures: number;
  /** Returns when every route is healed. */
  stop(): Promise<void>;
}

const upMs = { min: 300, max: 1_500 };
const downMs = { min: 300, max: 2_500 };

/** Each route flaps independently. */
export function flap(routes: readonly EngineRoute[], random: Random): Flapping {
  const draw = ({ min, max }: typeof upMs): number => min + random.float() * (max - min);
  return keepFailing(
    routes.map(route => async () => {
      await route.fail(faultOf(random));
      await Bun.sleep(draw(downMs));
      await route.heal();
      await Bun.sleep(draw(upMs));
    }),
  );
}

/** One route of each pair is down and the other up, in turns. */
export function flapInTurn(
  pairs: readonly (readonly [EngineRoute, EngineRoute])[],
  random: Random,
  eachMs: number,
): Flapping {
  return keepFailing(
    pairs.map(([one, other]) => async () => {
      for (const [down, up] of [
        [one, other],
        [other, one],
      ] as const) {
        await up.heal();
        await down.fail(faultOf(random));
        await Bun.sleep(eachMs);
        await down.heal();
      }
    }),
  );
}

const faultOf = (random: Random): LinkFault => (random.float() < 0.5 ? 'refused' : 'swallowed');

function keepFailing(rounds: readonly (() => Promise<void>)[]): Flapping {
  let isOver = false;
  let failures = 0;
  const loops = rounds.map(async round => {
    while (!isOver) {
      failures += 1;
      await round();
    }
  });
  return {
    get failures() {
      return failures;
    },
    async stop() {
      isOver = true;
      await Promise.all(loops);
    },
  };
}
