/** A few seeds of the simulator in every CI run, and a check that it finds planted bugs. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { testSeed } from '../kit/seed.ts';
import { type BugToFind, plantedBugs } from './bugs.ts';

/** In a separate process, because the simulation replaces the platform's clocks. */
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
    const { exitCode, output } = await simulate(`--seeds=${seeds}`, `--from=${testSeed}`);
    report(output.trim());
    expect(output).toContain(`: ${seeds} run, `);
    expect(output).toContain('no violation');
    expect(exitCode).toBe(0);
  },
  heavyTestMaxMs,
);

const digestLines = (output: string): string[] => output.match(/^digest of seed .*$/gm) ?? [];

test('a seed gives the same run alone and after others, to the last step', async () => {
  const seeds = [1, 2, 3, 4];
  const together = await simulate(`--seeds=${seeds.length}`, `--from=${seeds[0]}`, '--digests');
  const alone: string[] = [];
  for (const seed of seeds)
    alone.push(...digestLines((await simulate('--seeds=1', `--from=${seed}`, '--digests')).output));
  expect(alone).toHaveLength(seeds.length);
  expect(digestLines(together.output)).toEqual(alone);
});

test.each(Object.entries<BugToFind>(plantedBugs))(
  'the planted bug %s is found, by what it causes',
  async (bug, { violation }) => {
    const { exitCode, output } = await simulate('--seeds=200', '--from=1', `--bug=${bug}`, '--until-found');
    const found = output.split('\n', 1)[0]!;
    report(found);
    expect(found).toMatch(violation);
    expect(exitCode).toBe(1);
  },
  heavyTestMaxMs,
);
