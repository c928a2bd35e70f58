/** The script behind `npm test` must never call a failure a success. */
import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { failedFiles, judge, readRun } from '../scripts/run-tests.ts';

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
  expect(tallies.get('src/a.test.ts')?.faults).toEqual([
    '1 | expect(1).toBe(2);\nerror: one is not two\n(fail) group > two [2.00ms]',
  ]);
  expect(failedFiles(tallies)).toEqual(['src/a.test.ts', 'src/c.test.ts']);
});

test('a file that passes alone has passed and is named; one that fails again has failed', () => {
  const first = readRun(printed);
  const second = readRun('src/a.test.ts:\n(pass) one\n(pass) group > two\n(pass) five\n(skip) three\n');
  const { lines, isPassed } = judge(first, second);
  expect(isPassed).toBe(false);
  expect(lines).toContain('src/a.test.ts passed only when run alone; beside others:');
  expect(lines).toContain('src/c.test.ts failed:');
  expect(lines.at(-1)).toBe('4 passed, 1 failed, 1 skipped');
});

describe('the script', () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-run-tests-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const runs = (name: string, text: string) => {
    const path = join(folder, `${name}.test.ts`);
    writeFileSync(
      path,
      `import { expect, test } from 'bun:test';\nimport { existsSync, writeFileSync } from 'node:fs';\n${text}`,
    );
    const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'scripts/run-tests.ts', path]);
    return { exitCode, lastLine: stdout.toString().trimEnd().split('\n').at(-1) };
  };

  test.each([
    ['that passes', `test('a', () => expect(1).toBe(1));`, 0, '1 passed, 0 failed, 0 skipped'],
    ['that fails', `test('a', () => expect(1).toBe(2));`, 1, '0 passed, 1 failed, 0 skipped'],
    [
      'that fails beside others only',
      `const seen = import.meta.path + '.seen';
      test('a', () => {
        const isSecond = existsSync(seen);
        writeFileSync(seen, '');
        expect(isSecond).toBe(true);
      });`,
      0,
      '1 passed, 0 failed, 0 skipped',
    ],
    [
      'whose process is gone',
      `test('a', () => process.kill(process.pid, 'SIGKILL'));`,
      1,
      expect.stringMatching(/passed, \d+ failed/),
    ],
  ])('given a file %s ends with the right number and the right line', (name, text, exitCode, lastLine) => {
    expect(runs(name.replaceAll(' ', '-'), text)).toEqual({ exitCode, lastLine });
  });
});
