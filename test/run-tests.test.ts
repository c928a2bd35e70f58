/** The script behind `npm test` must never call a failure a success. */
import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { failedFiles, readRun, summarize } from '../scripts/test-report.ts';

const printed = `bun test v1

src/a.test.ts:
(pass) one [1.00ms]
1 | expect(1).toBe(2);
error: one is not two
(fail) group > two [2.00ms]
(skip) three (why not)

src/b.test.ts:
(pass) four [1.00ms]

src/a.test.ts:
(pass) five [1.00ms]

src/c.test.ts:

# Unhandled error between tests
-------------------------------
error: cannot be loaded
-------------------------------

1 tests failed:
(fail) group > two [2.00ms]

 3 pass
 2 fail
`;

test('what a run prints is read by file, also when two files take turns', () => {
  const tallies = readRun(printed);
  expect([...tallies].map(([file, { passed, failed, skipped }]) => [file, passed, failed, skipped])).toEqual([
    ['src/a.test.ts', 2, 1, 1],
    ['src/b.test.ts', 1, 0, 0],
    ['src/c.test.ts', 0, 1, 0],
  ]);
  expect(tallies.get('src/a.test.ts')?.failures).toEqual([
    {
      name: 'group > two',
      text: '1 | expect(1).toBe(2);\nerror: one is not two\n(fail) group > two [2.00ms]',
    },
  ]);
  expect(failedFiles(tallies)).toEqual(['src/a.test.ts', 'src/c.test.ts']);
});

test('what passes when repeated is flaky and named; what fails again has failed', () => {
  const first = readRun(printed);
  const repeat = readRun('src/a.test.ts:\n(pass) one\n(pass) group > two\n(pass) five\n(skip) three\n');
  const { lines, isPassed } = summarize(first, repeat);
  expect(isPassed).toBe(false);
  expect(lines).toContain('src/a.test.ts failed first and passed alone:');
  expect(lines).toContain('flaky: src/a.test.ts: group > two');
  expect(lines).toContain('src/c.test.ts failed:');
  expect(lines.at(-1)).toBe('4 passed, 1 failed, 1 skipped');
});

test('without a repeat a failure stays one', () => {
  const { lines, isPassed } = summarize(readRun(printed), new Map());
  expect(isPassed).toBe(false);
  expect(lines.filter(line => line.startsWith('flaky'))).toEqual([]);
  expect(lines.at(-1)).toBe('3 passed, 2 failed, 1 skipped');
});

describe('the script', () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-run-tests-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const runs = (name: string, text: string, ...options: readonly string[]) => {
    const path = join(folder, `${name}.test.ts`);
    writeFileSync(
      path,
      `import { expect, test } from 'bun:test';\nimport { existsSync, readFileSync, writeFileSync } from 'node:fs';\n${text}`,
    );
    const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'scripts/run-tests.ts', ...options, path]);
    const lines = stdout.toString().trimEnd().split('\n');
    return { exitCode, lastLine: lines.at(-1), flaky: lines.filter(line => line.startsWith('flaky')).length };
  };
  const failsOnce = `const seen = import.meta.path + '.seen';
    const seed = String(process.env.TERSE_TEST_SEED);
    test('a', () => {
      const before = existsSync(seen) ? readFileSync(seen, 'utf8') : 'none';
      writeFileSync(seen, seed);
      expect(before).toBe(seed);
    });`;

  test.each([
    ['that passes', `test('a', () => expect(1).toBe(1));`, 0, '1 passed, 0 failed, 0 skipped'],
    ['that fails', `test('a', () => expect(1).toBe(2));`, 1, '0 passed, 1 failed, 0 skipped'],
    ['that fails the first time only', failsOnce, 1, '0 passed, 1 failed, 0 skipped'],
    [
      'whose process is gone',
      `test('a', () => process.kill(process.pid, 'SIGKILL'));`,
      1,
      expect.stringMatching(/passed, \d+ failed/),
    ],
    [
      'that ends its process as if all were well',
      `test('a', () => process.exit(0)); test('b', () => expect(1).toBe(2));`,
      1,
      expect.stringMatching(/passed, \d+ failed/),
    ],
  ])('given a file %s ends with the right number and the right line', (name, text, exitCode, lastLine) => {
    expect(runs(name.replaceAll(' ', '-'), text)).toEqual({ exitCode, lastLine, flaky: 0 });
  });

  test('a given seed repeats the values of a property', () => {
    const path = join(folder, 'property.test.ts');
    writeFileSync(
      path,
      `import { test } from 'bun:test';
      import fc from ${JSON.stringify(Bun.resolveSync('fast-check', import.meta.dir))};
      test('a', () => console.log('drawn ' + fc.sample(fc.integer(), 5)));`,
    );
    const drawn = (seed: string) => {
      const env = { ...process.env, TERSE_TEST_SEED: seed };
      const { stdout } = Bun.spawnSync([process.execPath, 'test', path], { env });
      return /^drawn .*$/m.exec(stdout.toString())?.[0];
    };
    expect(drawn('1856919699')).toStartWith('drawn ');
    expect(drawn('1856919699')).toBe(drawn('1856919699')!);
    expect(drawn('1856919699')).not.toBe(drawn('1')!);
  });

  test('repeats a fault scenario once, with the same seed, and calls it flaky', () => {
    expect(runs('flaky-scenario', failsOnce, '--faults')).toEqual({
      exitCode: 0,
      lastLine: '1 passed, 0 failed, 0 skipped',
      flaky: 1,
    });
  });
});
