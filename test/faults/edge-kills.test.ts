/**
 * Links killed while Terse is killed as well and the cache in front hangs: every acknowledged kill takes effect at the
 * edge in the end, although the edge may keep redirects for much longer than the test lasts.
 */
import { expect, test } from 'bun:test';
import { announcedRandom } from '../kit/announced-random.ts';
import { EdgeInstallation } from '../kit/edge-installation.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { kill, killKinds, leadsThere, makeVictims } from '../kit/kills.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { until } from '../kit/until.ts';

const rounds = scaled(3, 30);
const killsPerRound = 10;
const spared = 10;
/** About as long as a change takes to be purged, so that Terse dies before, during and after it. */
const lifeMaxMs = 40;

describeWithEngine('varnish', 'kills through an edge', () => {
  test(
    'none that was acknowledged is forgotten, whichever process dies or hangs meanwhile',
    async () => {
      const random = announcedRandom('kills through an edge');
      const installation = await EdgeInstallation.start('varnish', 'log');
      const { edge } = installation;
      try {
        const victims = await makeVictims(installation.call, rounds * killsPerRound + spared);
        for (const victim of victims) expect(await leadsThere(edge.url, victim)).toBe(true);
        for (let round = 0; round < rounds; round += 1) {
          const isHanging = round % 2 === 1;
          if (isHanging) edge.pause();
          const doomed = victims.slice(round * killsPerRound, (round + 1) * killsPerRound);
          for (const [index, victim] of doomed.entries())
            await kill(installation.call, killKinds[(round + index) % killKinds.length]!, victim);
          await Bun.sleep(random.float() * lifeMaxMs);
          await installation.terse.kill();
          if (isHanging) edge.resume();
          await installation.restartTerse();
        }
        for (const victim of victims.slice(0, -spared))
          await until(`${victim.code} to die`, async () => !(await leadsThere(edge.url, victim)));
        const asked = await installation.answeredByTerse();
        for (const victim of victims.slice(-spared)) expect(await leadsThere(edge.url, victim)).toBe(true);
        // Unchanged links stayed in the cache: only changed ones were purged.
        expect(await installation.answeredByTerse()).toBe(asked);
        report(`${rounds * killsPerRound} kills, Terse killed ${rounds} times: all obeyed at the edge`);
      } finally {
        edge.resume();
        await installation.stop();
      }
    },
    heavyTestMaxMs,
  );
});
