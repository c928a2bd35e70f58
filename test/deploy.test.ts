/**
 * The files in deploy/ name settings, folders and each other, and nothing here runs them: so whatever they name has to
 * exist, and a server has to accept what they set.
 */
import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig, requireSupported } from '../src/config/config.ts';
import { settingNames, settingOf } from '../src/config/settings.ts';

interface Service {
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const root = join(import.meta.dir, '..');
const folder = join(root, 'deploy');
const textOf = (name: string): string => readFileSync(join(folder, name), 'utf8');

const compose = Bun.YAML.parse(textOf('compose.yaml')) as Compose;
const services = Object.entries(compose.services);
const ours = services.filter(([, { build }]) => build !== undefined);

/** Comments and the ends of continued lines are gone: one instruction each. */
const instructions = textOf('Containerfile')
  .replaceAll(/^#.*$/gm, '')
  .replaceAll(/\\\n/g, ' ')
  .split('\n')
  .map(line => line.trim())
  .filter(line => line !== '');
const argumentsOf = (name: string): string[][] =>
  instructions.filter(line => line.startsWith(`${name} `)).map(line => line.split(/\s+/).slice(1));

/** Sources only; what is copied from an earlier stage of the build is made there. */
const copied = argumentsOf('COPY')
  .filter(words => !words.some(word => word.startsWith('--from=')))
  .flatMap(words => words.filter(word => !word.startsWith('--')).slice(0, -1));
const imageSettings = Object.fromEntries(argumentsOf('ENV').flatMap(words => words.map(nameAndValue)));

function nameAndValue(word: string): [name: string, value: string] {
  const [name = '', ...value] = word.split('=');
  return [name, value.join('=')];
}

/** `${NAME:-default}` becomes its default, `${NAME:?why}` a value that an operator might choose. */
const filledIn = (text: string): string =>
  text.replaceAll(/\$\{\w+:([-?])([^}]*)\}/g, (_, kind, words) =>
    kind === '-' ? words : 'chosen-by-somebody',
  );

describe('deploy/compose.yaml', () => {
  test('runs Terse in every role', () => {
    const roles = ours.flatMap(([, { environment }]) => environment?.TERSE_ROLES?.split(',') ?? ['all']);
    expect(roles.toSorted()).toEqual(['api', 'redirect', 'worker']);
  });

  test.each(ours)(
    '%s is given settings of ours, and would start with them',
    (_name, { environment = {} }) => {
      const known = new Set(settingNames.map(name => settingOf(name).env));
      const given = { ...imageSettings, ...environment };
      expect(Object.keys(given).filter(name => !known.has(name))).toEqual([]);
      const env = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, filledIn(value)]));
      const config = loadConfig({ argv: [], env, readFile: () => '' });
      expect(() => requireSupported(config)).not.toThrow();
      expect(config.host).toBe('0.0.0.0');
    },
  );

  test.each(ours)('%s is built from the Containerfile beside it', (_name, { build }) => {
    expect(existsSync(join(folder, build!.context, build!.dockerfile))).toBe(true);
  });

  test.each(services)(
    '%s waits for services and keeps its data in volumes that are there',
    (_name, service) => {
      for (const other of Object.keys(service.depends_on ?? {}))
        expect(compose.services).toHaveProperty(other);
      for (const volume of service.volumes ?? [])
        expect(compose.volumes).toHaveProperty(volume.split(':')[0]!);
    },
  );

  test.each(services)('%s is open to this machine at most', (_name, { ports = [] }) => {
    for (const port of ports) expect(port).toStartWith('127.0.0.1:');
  });

  test('keeps the data of all processes of Terse in one folder', () => {
    const folders = ours.map(([, { volumes = [] }]) =>
      volumes.find(volume => volume.endsWith(`:${imageSettings.TERSE_DATA}`)),
    );
    expect(folders[0]).toBeDefined();
    expect(new Set(folders).size).toBe(1);
  });
});

describe('deploy/Containerfile', () => {
  test.each(copied)('copies %s, which is there', path => {
    expect(existsSync(join(root, path))).toBe(true);
  });

  test('is shown all that it copies and nothing else', () => {
    const [none, ...shown] = textOf('Containerfile.dockerignore')
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('#'));
    expect(none).toBe('*');
    expect(shown.map(line => line.replace(/^!/, '')).toSorted()).toEqual([...new Set(copied)].toSorted());
  });

  test('starts a file that is there', () => {
    const [, program = ''] = JSON.parse(
      instructions.find(line => line.startsWith('ENTRYPOINT'))!.slice('ENTRYPOINT'.length),
    );
    expect(existsSync(join(root, program))).toBe(true);
  });
});
