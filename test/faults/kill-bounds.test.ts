/**
 * How long a process still redirects to where a killed link led, measured from the answer to the kill, while its
 * engines come and go. The bounds are promises of the product; half a second is added for a busy machine.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { announcedRandom } from '../kit/announced-random.ts';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../kit/engines/postgres.ts';
import { sharedRedis } from '../kit/engines/redis.ts';
import { type Flapping, flap, flapInTurn } from '../kit/flapping.ts';
import { percentilesOf } from '../kit/hot-visitors.ts';
import {
  kill,
  killAndWatch,
  killKinds,
  killPromisedMs,
  leadsThere,
  makeVictims,
  summaryOf,
  type Victim,
} from '../kit/kills.ts';
import { type Fleet, type FleetMember, type LinkFault, startFleet } from '../kit/outage-fleet.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(heavyTestMaxMs);

const healthyKills = scaled(20, 500);
const killsAtOnce = 8;
const rounds = scaled(2, 25);
/** The promised bounds while an engine comes and goes, and after a process can reach one of them again. */
const flappingMaxMs = 3_000;
const reconnectedMaxMs = 1_000;
const slackMs = 500;
/** Beyond this, something is broken rather than slow; the promised 100 ms are only reported, as everywhere. */
const hopelessMs = 2_000;
const isolatedS = 4;
const visitEveryMs = 40;

describeWithEngine('redis', 'the bound on a kill', () => {
  describeWithEngine('postgres', 'on Postgres', body);
});

function body(): void {
  const random = announcedRandom('kill bounds');
  let links: string;
  let cache: string;
  beforeAll(async () => {
    links = await (await sharedPostgres()).freshDatabase();
    cache = (await sharedRedis()).url;
  });

  describe('for three processes', () => {
    let fleet: Fleet;
    let killer: FleetMember;
    let others: readonly FleetMember[];
    beforeAll(async () => {
      fleet = await startFleet({ count: 3, links, cache, env: { TERSE_CLICKS: 'off' } });
      [killer, ...others] = fleet.members as [FleetMember, ...FleetMember[]];
    });
    afterAll(() => fleet?.stop());

    async function whileFlapping(what: string, start: () => Flapping): Promise<void> {
      const flapping = start();
      const takenMs: number[] = [];
      try {
        for (let round = 0; round < rounds; round += 1) {
          const victims = await warmVictims(killer, others);
          const seen = await killAll(killer, others, victims, flappingMaxMs + 2 * slackMs);
          takenMs.push(...seen.map(({ ackedMs, ledMs }) => Math.max(0, ledMs - ackedMs)));
        }
      } finally {
        await flapping.stop();
      }
      report(`${what} (${flapping.failures} failures): ${shown(takenMs, flappingMaxMs)}`);
      expect(takenMs.filter(each => each > flappingMaxMs + slackMs)).toEqual([]);
    }

    test('with all engines well is reported', async () => {
      const takenMs: number[] = [];
      for (const [n, victim] of (await makeVictims(callerOf(killer.url), healthyKills)).entries())
        takenMs.push(
          await killAndWatch(
            fleet.members.map(({ terse }) => terse),
            victim,
            n,
            hopelessMs,
          ),
        );
      report(`all engines well: ${summaryOf(takenMs)} (bound ${killPromisedMs} ms)`);
      expect(takenMs.filter(each => each > hopelessMs)).toEqual([]);
    });

    test('is 3 s while the store comes and goes', () =>
      whileFlapping('store flapping', () =>
        flap(
          others.map(({ store }) => store),
          random,
        ),
      ));

    test('is 3 s while Redis comes and goes', () =>
      whileFlapping('Redis flapping', () =>
        flap(
          fleet.members.map(({ redis }) => redis),
          random,
        ),
      ));

    test('is 3 s while the store and Redis are down in turn', () =>
      whileFlapping('store and Redis down in turn', () =>
        flapInTurn(
          others.map(({ store, redis }) => [store, redis] as const),
          random,
          2_500,
        ),
      ));
  });

  describe('for a process that reaches neither', () => {
    let fleet: Fleet;
    let killer: FleetMember;
    let isolated: FleetMember;
    beforeAll(async () => {
      const env = { TERSE_CLICKS: 'off', TERSE_STALE_IF_ISOLATED_S: String(isolatedS) };
      fleet = await startFleet({ count: 2, links, cache, env });
      [killer, isolated] = fleet.members as [FleetMember, FleetMember];
    });
    afterAll(() => fleet?.stop());

    const cut = (fault: LinkFault) => Promise.all([isolated.store.fail(fault), isolated.redis.fail(fault)]);
    const reconnect = () => Promise.all([isolated.store.heal(), isolated.redis.heal()]);
    const obeys = async (victims: readonly Victim[]) =>
      until('the kills to be obeyed', async () => {
        const leading = await Promise.all(victims.map(victim => leadsThere(isolated.url, victim)));
        return leading.every(leads => !leads);
      });

    test.each(scaled<readonly LinkFault[]>(['swallowed'], ['swallowed', 'refused']))(
      `is ${isolatedS} + 3 s while its packets are %s`,
      async fault => {
        const maxMs = isolatedS * 1_000 + flappingMaxMs;
        const victims = await warmVictims(killer, [isolated]);
        await cut(fault);
        let takenMs: number[];
        try {
          const seen = await killAll(killer, [isolated], victims, maxMs + 2 * slackMs);
          takenMs = seen.map(({ ackedMs, ledMs }) => Math.max(0, ledMs - ackedMs));
        } finally {
          await reconnect();
        }
        report(`isolated, ${fault}, TERSE_STALE_IF_ISOLATED_S=${isolatedS}: ${shown(takenMs, maxMs)}`);
        expect(takenMs.filter(each => each > maxMs + slackMs)).toEqual([]);
        await obeys(victims);
      },
    );

    test.each<LinkFault>(['swallowed', 'refused'])(
      'is 1 s from when it reaches them again, its packets having been %s',
      async fault => {
        const takenMs: number[] = [];
        for (let round = 0; round < rounds; round += 1) {
          const victims = await warmVictims(killer, [isolated]);
          await cut(fault);
          const killing = killAll(killer, [isolated], victims, 1_000 + flappingMaxMs);
          await Bun.sleep(1_500 + random.float() * 500);
          await reconnect();
          const reconnectedMs = performance.now();
          takenMs.push(...(await killing).map(({ ledMs }) => Math.max(0, ledMs - reconnectedMs)));
          await obeys(victims);
        }
        report(`reconnected after ${fault}: ${shown(takenMs, reconnectedMaxMs)}`);
        expect(takenMs.filter(each => each > reconnectedMaxMs + slackMs)).toEqual([]);
      },
    );
  });
}

/** Links that every process has in memory; a process whose engines flap may need several attempts. */
async function warmVictims(killer: FleetMember, known: readonly FleetMember[]): Promise<Victim[]> {
  const victims = await makeVictims(callerOf(killer.url), killsAtOnce);
  for (const { url } of known) {
    for (const victim of victims) await until('a warm link', () => leadsThere(url, victim));
  }
  return victims;
}

interface Obeyed {
  readonly ackedMs: number;
  /** The start of the last visit that still led to the old destination. */
  readonly ledMs: number;
}

/**
 * Kills all links, each in another way, and keeps visiting them for a while after the answer, because a process that
 * has stopped redirecting might start again. Returns one entry for each link and process.
 */
async function killAll(
  killer: FleetMember,
  watched: readonly FleetMember[],
  victims: readonly Victim[],
  watchMs: number,
): Promise<Obeyed[]> {
  const call = callerOf(killer.url);
  const all = await Promise.all(
    victims.map(async (victim, n) => {
      let ackedMs = Number.POSITIVE_INFINITY;
      const watching = watched.map(async ({ url }) => {
        let ledMs = 0;
        while (performance.now() - ackedMs < watchMs) {
          const startedMs = performance.now();
          if (await leadsThere(url, victim)) ledMs = startedMs;
          await Bun.sleep(visitEveryMs);
        }
        return ledMs;
      });
      await kill(call, killKinds[n % killKinds.length]!, victim);
      ackedMs = performance.now();
      return (await Promise.all(watching)).map(ledMs => ({ ackedMs, ledMs }));
    }),
  );
  return all.flat();
}

function shown(takenMs: readonly number[], boundMs: number): string {
  const at = percentilesOf(takenMs);
  const figures = `p50 ${at(0.5).toFixed(0)} ms, p99 ${at(0.99).toFixed(0)} ms, max ${at(1).toFixed(0)} ms`;
  return `${takenMs.length} kills: ${figures} (bound ${boundMs} ms)`;
}
