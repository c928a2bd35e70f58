/** The script behind `npm test` must never call a failure a success. */
import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stopEngines } from '../scripts/run-tests.ts';
import { failedFiles, readRun, saidFailed, summarize, violation } from '../scripts/test-report.ts';
import { isAlive } from './kit/worker-processes.ts';

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

const counts = (text: string) =>
  [...readRun(text)].map(([file, { passed, failures, skipped }]) => [
    file,
    passed.length,
    failures.length,
    skipped.length,
  ]);

test('what a run prints is read by file, also when two files take turns', () => {
  const tallies = readRun(printed);
  expect(counts(printed)).toEqual([
    ['src/a.test.ts', 2, 1, 1],
    ['src/b.test.ts', 1, 0, 0],
    ['src/c.test.ts', 0, 1, 0],
  ]);
  expect(tallies.get('src/a.test.ts')).toMatchObject({
    passed: ['one', 'five'],
    skipped: ['three (why not)'],
    failures: [
      {
        name: 'group > two',
        text: '1 | expect(1).toBe(2);\nerror: one is not two\n(fail) group > two [2.00ms]',
        isViolation: false,
      },
    ],
  });
  expect(failedFiles(tallies)).toEqual(['src/a.test.ts', 'src/c.test.ts']);
});

test('a failure’s text is that of its file, also when another file is in between', () => {
  const tallies = readRun(
    `src/a.test.ts:\nerror: ${violation}\n\nsrc/b.test.ts:\nerror: late\n(fail) b\n\nsrc/a.test.ts:\n(fail) a\n`,
  );
  expect(tallies.get('src/a.test.ts')?.failures).toMatchObject([{ name: 'a', isViolation: true }]);
  expect(tallies.get('src/b.test.ts')?.failures).toMatchObject([{ name: 'b', isViolation: false }]);
});

test('how many failed is what bun says last', () => {
  expect(saidFailed(printed)).toBe(2);
  expect(saidFailed(` 0 fail\n${printed}`)).toBe(2);
});

const summaryOf = (first: string, repeat = '') =>
  summarize([{ first: readRun(first), repeats: readRun(repeat) }], 0);

test('what passes when repeated is flaky and named; what fails again has failed', () => {
  const { lines, isPassed } = summaryOf(
    printed,
    'src/a.test.ts:\n(pass) one\n(pass) group > two\n(pass) five\n(skip) three\n',
  );
  expect(isPassed).toBe(false);
  expect(lines).toContain('src/a.test.ts failed first and passed alone:');
  expect(lines).toContain('flaky: src/a.test.ts: group > two');
  expect(lines).toContain('src/c.test.ts failed:');
  expect(lines.at(-1)).toBe('4 passed, 1 failed, 1 skipped');
});

test('without a repeat a failure stays one', () => {
  const { lines, isPassed } = summaryOf(printed);
  expect(isPassed).toBe(false);
  expect(lines.filter(line => line.startsWith('flaky'))).toEqual([]);
  expect(lines.at(-1)).toBe('3 passed, 2 failed, 1 skipped');
});

const failedTwo = 'x.test.ts:\n(pass) one\nerror: late\n(fail) two\n';

test.each([
  ['ran only other tests', failedTwo, 'x.test.ts:\n(pass) one\n', '1 passed, 1 failed, 0 skipped'],
  ['skipped it', failedTwo, 'x.test.ts:\n(pass) one\n(skip) two\n', '1 passed, 1 failed, 1 skipped'],
  [
    'ran one of two tests of its name',
    `${failedTwo}(pass) two\n`,
    'x.test.ts:\n(pass) one\n(pass) two\n',
    '2 passed, 1 failed, 0 skipped',
  ],
  [
    'passed it although it was a violation',
    failedTwo.replace('late', violation),
    'x.test.ts:\n(pass) one\n(pass) two\n',
    '2 passed, 1 failed, 0 skipped',
  ],
  [
    'failed another test',
    failedTwo,
    'x.test.ts:\nerror: late\n(fail) one\n(pass) two\n',
    '1 passed, 1 failed, 0 skipped',
  ],
  ['is of another file', failedTwo, 'y.test.ts:\n(pass) two\n', '1 passed, 1 failed, 0 skipped'],
])('a repeat that %s makes no run green', (_what, first, repeat, lastLine) => {
  const { lines, isPassed } = summaryOf(first, repeat);
  expect([isPassed, lines.at(-1)]).toEqual([false, lastLine]);
});

test('a violation is found however much is printed after it', () => {
  const printedLater = 'a line of a difference\n'.repeat(500);
  const tallies = readRun(`x.test.ts:\nerror: ${violation}\n${printedLater}(fail) two\n`);
  expect(tallies.get('x.test.ts')?.failures[0]?.isViolation).toBe(true);
});

test('a file that two suites ran passes only if it passed in both', () => {
  const [red, green] = [failedTwo, 'x.test.ts:\n(pass) one\n(pass) two\n'].map(text => ({
    first: readRun(text),
    repeats: new Map(),
  }));
  const { lines, isPassed } = summarize([red!, green!], 0);
  expect([isPassed, lines.at(-1)]).toEqual([false, '3 passed, 1 failed, 0 skipped']);
});

test('a process without a report is a failure, also in the last line', () => {
  const { lines, isPassed } = summarize(
    [{ first: readRun('x.test.ts:\n(pass) a\n'), repeats: new Map() }],
    1,
  );
  expect([isPassed, lines.at(-1)]).toEqual([false, '1 passed, 1 failed, 0 skipped']);
});

test('skipped tests are named', () => {
  expect(summaryOf(printed).lines).toContain('skipped: src/a.test.ts: three (why not)');
});

test('an engine that does not stop takes nothing from the summary', async () => {
  let asked = 0;
  await stopEngines({
    stop: async () => {
      asked += 1;
      throw new Error('it hangs');
    },
  });
  expect(asked).toBe(1);
});

describe('the script', () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-run-tests-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const runs = (name: string, text: string, ...options: readonly string[]) => {
    const path = join(folder, `${name}.test.ts`);
    mkdirSync(dirname(path), { recursive: true });
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
      expect.stringMatching(/passed, [1-9]\d* failed/),
    ],
    [
      'that ends its process as if all were well',
      `test('a', () => process.exit(0)); test('b', () => expect(1).toBe(2));`,
      1,
      expect.stringMatching(/passed, [1-9]\d* failed/),
    ],
    [
      'that prints half a character',
      `test('a', () => { process.stdout.write(Uint8Array.of(0xc3)); }); test('b', () => undefined);`,
      0,
      '2 passed, 0 failed, 0 skipped',
    ],
  ])('given a file %s ends with the right number and the right line', (name, text, exitCode, lastLine) => {
    expect(runs(name.replaceAll(' ', '-'), text)).toEqual({ exitCode, lastLine, flaky: 0 });
  });

  test('a seed, given or not, decides the values of a property', () => {
    const path = join(folder, 'property.test.ts');
    writeFileSync(
      path,
      `import { test } from 'bun:test';
      import fc from ${JSON.stringify(Bun.resolveSync('fast-check', import.meta.dir))};
      test('a', () => console.log('drawn ' + fc.sample(fc.integer(), 5)));`,
    );
    const drawn = (seed: string | undefined) => {
      const env = { ...process.env, TERSE_TEST_SCALE: undefined, TERSE_TEST_SEED: seed };
      const { stdout } = Bun.spawnSync([process.execPath, 'test', path], { env });
      return /^drawn .*$/m.exec(stdout.toString())?.[0];
    };
    expect(drawn('1856919699')).toStartWith('drawn ');
    expect(drawn('1856919699')).toBe(drawn('1856919699')!);
    expect(drawn('1856919699')).not.toBe(drawn('1')!);
    // Nor does an everyday run depend on luck.
    expect(drawn(undefined)).toStartWith('drawn ');
    expect(drawn(undefined)).toBe(drawn(undefined)!);
  });

  const failsOnceBadly = `import { expectSafe } from ${JSON.stringify(join(import.meta.dir, 'kit/expect-safe.ts'))};
    ${failsOnce.replace('expect(before)', 'expectSafe(before)')}`;

  test.each([
    ['with a violation', 'scenario-with-violation', failsOnceBadly, '--faults'],
    ['of the simulator', 'simulate/simulate-faults', failsOnce, '--faults'],
    ['given by its path', 'scenario-of-all', failsOnce, '--all'],
  ])('does not repeat a scenario %s', (_what, name, text, option) => {
    expect(runs(name, text, option)).toEqual({
      exitCode: 1,
      lastLine: '0 passed, 1 failed, 0 skipped',
      flaky: 0,
    });
  });

  const hasProc = process.platform === 'linux';
  test.skipIf(!hasProc)('does not wait for a process that a test leaves behind (needs /proc)', () => {
    const pidFile = join(folder, 'left.pid');
    const outcome = runs(
      'leaves-a-process',
      `test('a', () => {
        const { pid } = Bun.spawn(['sleep', '300'], { stdout: 'inherit', stderr: 'inherit' });
        writeFileSync(${JSON.stringify(pidFile)}, String(pid));
      });`,
    );
    const pid = Number(readFileSync(pidFile, 'utf8'));
    const outlived = isAlive(pid);
    if (outlived) process.kill(pid, 'SIGKILL');
    expect(outlived).toBe(true);
    expect(outcome).toEqual({ exitCode: 0, lastLine: '1 passed, 0 failed, 0 skipped', flaky: 0 });
  });

  test('repeats a fault scenario once, with the same seed, and calls it flaky', () => {
    expect(runs('flaky-scenario', failsOnce, '--faults')).toEqual({
      exitCode: 0,
      lastLine: '1 passed, 0 failed, 0 skipped',
      flaky: 1,
    });
  });
});
