/**
 * Makes the configuration from flags, environment, file and defaults, in this order of precedence. This is the
 * only file that reads the process environment; all other code receives a `Config`.
 * Invariant: a `Config` is complete and valid, so nothing after the start checks a setting again.
 */
import { readFileSync } from 'node:fs';
import type { S3Keys } from '../engines/s3/address.ts';
import {
  archiveRefusals,
  connectionRefusals,
  edgeRefusals,
  queueRefusals,
  regionRefusals,
  statsRefusals,
} from './requirements.ts';
import { Refused } from './setting-values.ts';
import {
  type Audience,
  type Role,
  type SettingName,
  settingNames,
  settingOf,
  type settings,
  snowflakeCodeLengthMin,
} from './settings.ts';
import {
  ConfigError,
  type Environment,
  fromEnvironment,
  fromFile,
  fromFlags,
  type Given,
  givenAs,
  givenIn,
  type Source,
  throwFirst,
} from './sources.ts';

export { ConfigError };

type Values = { readonly [Name in SettingName]: ReturnType<(typeof settings)[Name]['read']> };

export interface Config extends Values {
  /** Where each value came from. */
  readonly sources: Readonly<Record<SettingName, Source>>;
}

export interface ConfigInput {
  readonly argv: readonly string[];
  readonly env: Environment;
  readonly readFile: (path: string) => string;
  /** Whose flags are accepted; those of all audiences unless given. */
  readonly audiences?: readonly Audience[];
}

export function loadConfig(input: ConfigInput): Config {
  const flags = fromFlags(input.argv, input.audiences ?? ['server', 'client']);
  const environment = fromEnvironment(input.env, input.readFile);
  const filePath = configFile(flags, environment);
  const file: Given = filePath === undefined ? new Map() : fromFile(filePath, input.readFile);

  const values: Partial<Record<SettingName, unknown>> = {};
  const sources: Partial<Record<SettingName, Source>> = {};
  for (const name of settingNames) {
    const [source, text] = strongest(name, flags, environment, file);
    sources[name] = source;
    values[name] = text === undefined ? defaultOf(name, values) : read(name, source, text, filePath);
  }
  // The loop above covered every name, and each value is what the name's reader returned.
  const config = Object.freeze({ ...values, sources: Object.freeze(sources) }) as Config;
  checkTogether(config);
  return config;
}

export function loadConfigFromProcess(argv: readonly string[], audiences?: readonly Audience[]): Config {
  const readFile = (path: string): string => readFileSync(path, 'utf8');
  return loadConfig({ argv, env: process.env, readFile, ...(audiences && { audiences }) });
}

export const environmentOfProcess = (): Environment => process.env;

/** Whether the vendor's tools would find credentials in the environment, where they read them themselves. */
export const hasAwsCredentials = (env: Environment = process.env): boolean =>
  ['AWS_ACCESS_KEY_ID', 'AWS_PROFILE', 'AWS_WEB_IDENTITY_TOKEN_FILE'].some(name => env[name] !== undefined) ||
  Object.keys(env).some(name => name.startsWith('AWS_CONTAINER_CREDENTIALS_'));

/** Keys to S3-compatible storage, where the vendor's tools look for them; undefined without both. */
export function awsKeysOfProcess(env: Environment = process.env): S3Keys | undefined {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  const { AWS_SESSION_TOKEN: sessionToken } = env;
  if (!accessKeyId || !secretAccessKey) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

/** Yields every unmet requirement; `hasKeys` says whether the environment holds AWS keys. */
export type SettingRequirement = (config: Config, hasKeys: boolean) => Iterable<ConfigError>;

/** What settings need of each other. A server stops at the first refusal, `terse doctor` reports all of them. */
export const settingRequirements: readonly SettingRequirement[] = [
  connectionRefusals,
  statsRefusals,
  queueRefusals,
  regionRefusals,
  archiveRefusals,
  edgeRefusals,
];

export function* settingRefusals(config: Config): Iterable<ConfigError> {
  const hasKeys = awsKeysOfProcess() !== undefined;
  for (const requirement of settingRequirements) yield* requirement(config, hasKeys);
}

/** Stops a start whose parts are incompatible. */
export const requireSupported = (config: Config): void => throwFirst(settingRefusals(config));

function configFile(flags: Given, environment: Given): string | undefined {
  const [source, text] = strongest('config', flags, environment, new Map());
  return text === undefined ? undefined : (read('config', source, text, undefined) as string | undefined);
}

function strongest(
  name: SettingName,
  flags: Given,
  environment: Given,
  file: Given,
): [source: Source, text: string | undefined] {
  if (flags.has(name)) return ['flag', flags.get(name)];
  if (environment.has(name)) return ['environment', environment.get(name)];
  if (file.has(name)) return ['file', file.get(name)];
  return ['default', undefined];
}

function defaultOf(name: SettingName, earlier: Readonly<Record<string, unknown>>): unknown {
  const setting = settingOf(name);
  const text = typeof setting.default === 'function' ? setting.default(earlier) : setting.default;
  return text === undefined ? undefined : setting.read(text);
}

function read(name: SettingName, source: Source, text: string, file: string | undefined): unknown {
  const setting = settingOf(name);
  try {
    return setting.read(text);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const hint = error.message === '' ? '' : ` (${error.message})`;
    const allowed = setting.values.replaceAll('`', '');
    throw new ConfigError(`${givenAs(name, source, text, file)} is not allowed: use ${allowed}${hint}`);
  }
}

/** Checks that involve more than one setting. */
function checkTogether(config: Config): void {
  if (config.links === 'memory' && config.workers !== 1) {
    const given = givenIn(config, 'links');
    throw new ConfigError(
      `${given} is not allowed with several workers: each would have links of its own; use sqlite, or 1 worker`,
    );
  }
  if (config.links === 'memory' && config.linkHealth) {
    const given = givenIn(config, 'linkHealth', 'on');
    throw new ConfigError(`${given} is not allowed with links in memory, which only the server sees`);
  }
  if (config.codeStrategy === 'snowflake' && config.codeLength < snowflakeCodeLengthMin) {
    const given = givenIn(config, 'codeLength');
    throw new ConfigError(
      `${given} is not allowed: the snowflake strategy needs ${snowflakeCodeLengthMin} or 12 characters`,
    );
  }
}

/** What a process does, from its roles. Every process reports its health and its metrics. */
export interface Duties {
  /** Follows short links. */
  readonly redirects: boolean;
  /** Serves the API, the dashboard and the pages. */
  readonly api: boolean;
  /** Does background work for all processes: sweeps, counts and drains. */
  readonly background: boolean;
}

export function dutiesOf(roles: readonly Role[]): Duties {
  const has = (role: Role): boolean => roles.includes('all') || roles.includes(role);
  return { redirects: has('redirect'), api: has('api'), background: has('worker') };
}
