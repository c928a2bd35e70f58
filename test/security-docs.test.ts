/** docs/security.md names a test for every threat; this one checks that they are there under those names. */
import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingNames, settingOf } from '../src/config/settings.ts';

const root = join(import.meta.dir, '..');
const text = readFileSync(join(root, 'docs/security.md'), 'utf8');
const threats = text
  .slice(text.indexOf('\n## Threats'), text.indexOf('\n## Secrets'))
  .split('\n')
  .filter(line => line.startsWith('| ') && !line.startsWith('| Threat '))
  .map(line => line.split(' | '))
  .map(([threat = '', , proof = '']) => [threat.slice(2), proof] as const);

interface Proof {
  readonly path: string;
  /** Undefined when the whole file is about it. */
  readonly title: string | undefined;
}

const proofsOf = (proof: string): Proof[] =>
  [...proof.matchAll(/`([^`]+)`(?:: “([^”]+)”)?/g)].map(([, path, title]) => ({ path: path!, title }));

/** A title as its file may write it. */
function isTitled(source: string, title: string): boolean {
  const quoted = [`'${title.replaceAll("'", "\\'")}'`, `"${title}"`, `\`${title}\``];
  return quoted.some(each => source.includes(each));
}

test('there are threats to look at', () => {
  expect(threats.length).toBeGreaterThan(25);
});

describe.each(threats)('“%s”', (_threat, proof) => {
  test('is covered by tests that exist', () => {
    const proofs = proofsOf(proof);
    expect(proofs).not.toEqual([]);
    const missing = proofs.filter(({ path, title }) => {
      if (!path.endsWith('.test.ts') || !existsSync(join(root, path))) return true;
      return title !== undefined && !isTitled(readFileSync(join(root, path), 'utf8'), title);
    });
    expect(missing).toEqual([]);
  });
});

test('every secret setting is documented', () => {
  const secrets = settingNames.map(settingOf).filter(({ secret }) => secret);
  expect(secrets.map(({ env }) => env).filter(env => !text.includes(env))).toEqual([]);
});
