/**
 * The container image and the Compose file: no process runs as root, nothing can be written, and health is reported.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { selfSigned, writePair } from '../kit/self-signed.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { temporaryFolder } from '../kit/terse-process.ts';

const textOf = (name: string): string => readFileSync(join(import.meta.dir, '../../deploy', name), 'utf8');
const instructions = textOf('Containerfile')
  .split('\n')
  .filter(line => /^[A-Z]+ /.test(line));
const compose = Bun.YAML.parse(textOf('compose.yaml')) as {
  services: Record<
    string,
    { build?: unknown; image?: string; environment?: Record<string, string>; ports?: unknown }
  >;
};

describe('the image', () => {
  test('runs as somebody who is not root, and who owns nothing but the data folder', () => {
    const last = instructions.findLastIndex(line => line.startsWith('USER '));
    expect(instructions[last]).toBe('USER node');
    const made = instructions.findLastIndex(line => /^(?:RUN|COPY|ADD) /.test(line));
    expect(made).toBeLessThan(last);
    expect(instructions.filter(line => line.includes('chown'))).toEqual([
      'RUN mkdir -m 700 /data && chown node:node /data',
    ]);
  });

  test('is made of an image with a version, and of our own files', () => {
    const bases = instructions.filter(line => line.startsWith('FROM '));
    for (const base of bases) expect(base).toMatch(/^FROM [\w/-]+:\d[\w.-]*(?: AS \w+)?$/);
    expect(instructions.filter(line => line.startsWith('ADD '))).toEqual([]);
  });

  test('carries no secret', () => {
    const set = instructions.filter(line => /^(?:ENV|ARG) /.test(line)).join('\n');
    expect(set).not.toMatch(/KEY|SECRET|PASSWORD|TOKEN/i);
  });
});

describe('Compose', () => {
  test.each(Object.entries(compose.services).filter(([, { build }]) => build !== undefined))(
    '%s cannot write outside of its volume, nor become more than it is',
    (_name, service) => {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    },
  );

  test('serves metrics on a port that is not published', () => {
    for (const name of ['redirect', 'api']) {
      const { environment, ports } = compose.services[name]!;
      expect(environment).toMatchObject({ TERSE_METRICS: 'off', TERSE_METRICS_HOST: '0.0.0.0' });
      expect(JSON.stringify(ports)).not.toContain(environment!.TERSE_METRICS_PORT!);
    }
  });

  test('names versions of what it fetches, and no password', () => {
    for (const { image, environment = {} } of Object.values(compose.services)) {
      if (image !== undefined) expect(image).toMatch(/:\d/);
      for (const [name, value] of Object.entries(environment))
        if (/PASSWORD|_KEY$/.test(name)) expect(value).toMatch(/^\$\{\w+:\?[^}]+\}$/);
    }
  });
});

describe.skipIf(Bun.which('node') === null)('the health check', () => {
  const line = instructions.find(each => each.startsWith('HEALTHCHECK '))!;
  const [program, ...words] = JSON.parse(line.slice(line.indexOf('['))) as [string, ...string[]];
  const exitCode = async (env: Record<string, string>): Promise<number> =>
    Bun.spawn([program, ...words], { env: { PATH: process.env.PATH!, ...env }, stderr: 'ignore' }).exited;
  const folder = temporaryFolder();
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each([
    ['plain', {}],
    ['encrypted', writePair(folder, selfSigned())],
  ])('says that a %s Terse is well, and that one that is gone is not', async (_what, env) => {
    const terse = await startTerseHere({ env });
    const settings = { ...env, PORT: new URL(terse.url).port };
    expect(await exitCode(settings)).toBe(0);
    await terse.stop();
    expect(await exitCode(settings)).toBe(1);
  });
});
