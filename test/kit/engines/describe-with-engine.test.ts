import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../terse-process.ts';

let folder: string;
beforeAll(() => {
  folder = temporaryFolder();
  const kit = JSON.stringify(join(import.meta.dir, 'describe-with-engine.ts'));
  writeFileSync(
    join(folder, 'sample.test.ts'),
    `import { test } from 'bun:test';
     import { describeUnless, describeWithEngine } from ${kit};
     describeWithEngine('dynamodb', 'shared', () => { test('runs', () => undefined); });
     describeWithEngine('dynamodb', 'own', () => { test('runs', () => undefined); }, { own: true });
     describeUnless('no vectors', 'llhttp', 'vectors', () => { test('runs', () => undefined); });`,
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** On a machine that has no Java, because nothing is on its PATH. */
function runSample(env: Record<string, string>) {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, 'test'], {
    cwd: folder,
    env: { PATH: '', ...env },
  });
  return { exitCode, said: stderr.toString() };
}

test('an unavailable engine skips its tests, by name and reason', () => {
  const { exitCode, said } = runSample({});
  expect(exitCode).toBe(0);
  expect(said).toMatch(/\(skip\) shared \(no Java .*\) > runs/);
  expect(said).toMatch(/\(skip\) own \(no Java .*\) > runs/);
});

test('an engine that is required and unavailable fails, and says why', () => {
  const { exitCode, said } = runSample({ TERSE_TEST_REQUIRE: 'redis,dynamodb' });
  expect(exitCode).not.toBe(0);
  expect(said).toMatch(/\(fail\) shared > /);
  expect(said).toContain('no Java');
});

test('so do other things that a machine may lack', () => {
  expect(runSample({}).said).toMatch(/\(skip\) vectors \(no vectors\) > runs/);
  const { exitCode, said } = runSample({ TERSE_TEST_REQUIRE: 'llhttp' });
  expect(exitCode).not.toBe(0);
  expect(said).toMatch(/\(fail\) vectors > /);
});

test('a requirement of one engine is none of another with a similar name', () => {
  expect(runSample({ TERSE_TEST_REQUIRE: 'dynamodb-streams' }).exitCode).toBe(0);
});

test('an address in the environment is an engine, but not one to kill', () => {
  const { said } = runSample({ TERSE_TEST_DYNAMODB: 'http://127.0.0.1:8000' });
  expect(said).toMatch(/\(pass\) shared > runs/);
  expect(said).toMatch(/\(skip\) own /);
});
