/** A few seeds of the simulator in every CI run, and the proof that it finds what it is meant to find. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { testSeed } from '../kit/seed.ts';
import { plantedBugs } from './bugs.ts';

/** In a process of its own, because the simulation replaces the platform's clocks. */
async function simulate(...args: readonly string[]): Promise<{ exitCode: number; output: string }> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'main.ts'), ...args], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const output = await new Response(child.stdout).text();
  return { exitCode: await child.exited, output };
}

test(
  'no seed violates anything',
  async () => {
    const seeds = scaled(80, 2_000);
    const { exitCode, output } = await simulate(`--seeds=${seeds}`, `--from=${testSeed}`, '--seconds=90');
    report(output.trim());
    expect(output).toContain('no violation');
    expect(exitCode).toBe(0);
  },
  heavyTestMaxMs,
);

test('a seed gives the same run each time, to the last step', async () => {
  for (const seed of [1, 2, 3, 4]) {
    const runs = [
      await simulate('--seeds=1', `--from=${seed}`, '--trace'),
      await simulate('--seeds=1', `--from=${seed}`, '--trace'),
    ];
    const [one, other] = runs.map(({ output }) => output.replace(/, \d+ s$/m, ''));
    expect(one).toContain('steps');
    expect(other).toBe(one!);
  }
});

test.each(Object.keys(plantedBugs))(
  'the planted bug %s is found',
  async bug => {
    const { exitCode, output } = await simulate('--seeds=200', '--from=1', `--bug=${bug}`, '--until-found');
    report(output.split('\n', 1)[0]!);
    expect(exitCode).toBe(1);
  },
  heavyTestMaxMs,
);
