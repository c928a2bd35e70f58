/**
 * The three places a setting can be given: flags, environment, file. Each reader here turns its place into
 * the same shape, text by setting name, and stops at the first name it does not know.
 * Invariant: a message names the setting the way it was given and never shows a secret.
 */
import { closestName } from '../base/did-you-mean.ts';
import type { Config } from './config.ts';
import { hideCredentials, oneLine } from './setting-values.ts';
import { type Audience, flagOf, type SettingName, settingNames, settingOf } from './settings.ts';

/** The configuration cannot be used. The message is one line for the person who has to fix it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** What to set instead, where the message does not say it in full; `terse doctor` shows it. */
  readonly fix: string | undefined;

  constructor(line: string, fix?: string) {
    super(oneLine(line));
    this.fix = fix;
  }
}

/** Stops at the first refusal; nothing after it is computed. */
export function throwFirst(refusals: Iterable<ConfigError>): void {
  for (const refusal of refusals) throw refusal;
}

export type Source = 'flag' | 'environment' | 'file' | 'default';

export type Given = ReadonlyMap<SettingName, string>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment variable that makes a process a worker; not a setting, because only a supervisor has a socket to hand over. */
export const supervisedVariable = 'TERSE_SUPERVISED';

const shownLengthMax = 200;

/** How a message names a setting and its value, such as `PORT=80x`, `--port=80x` or `port=80x in FILE`. */
export function givenAs(name: SettingName, source: Source, value: string, file: string | undefined): string {
  const setting = settingOf(name);
  const visible = setting.secret ? '(hidden)' : hideCredentials(value);
  const shown = visible.length > shownLengthMax ? `${visible.slice(0, shownLengthMax)}…` : visible;
  if (source === 'flag') return `${flagOf(name)}=${shown}`;
  if (source === 'file') return `${name}=${shown} in ${file}`;
  return `${setting.env}=${shown}`;
}

/** The same of a setting in use. */
export const givenIn = (
  { sources, config, ...values }: Config,
  name: SettingName,
  value = String((values as Record<string, unknown>)[name]),
): string => givenAs(name, sources[name], value, config);

/**
 * Takes the settings of these audiences out of the arguments, as `--name=value`; the rest belongs to the
 * command. After `--` nothing is a flag.
 */
export function separateFlags(
  argv: readonly string[],
  audiences: readonly Audience[],
): { flags: string[]; rest: string[] } {
  const byFlag = new Map(settingNames.map(name => [flagOf(name), name]));
  const flags: string[] = [];
  const rest: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index]!;
    if (argument === '--') {
      rest.push(...argv.slice(index));
      break;
    }
    const flag = flagPart(argument);
    const name = byFlag.get(flag);
    if (name === undefined || !(name === 'config' || audiences.includes(settingOf(name).audience))) {
      rest.push(argument);
    } else if (argument !== flag) {
      flags.push(argument);
    } else {
      const value = argv[++index];
      if (value === undefined || value.startsWith('--')) throw new ConfigError(`${flag} needs a value`);
      flags.push(`${flag}=${value}`);
    }
  }
  return { flags, rest };
}

export function fromFlags(argv: readonly string[], audiences: readonly Audience[]): Given {
  const { flags, rest } = separateFlags(argv, audiences);
  const stray = rest[0];
  if (stray !== undefined) throw unknownArgument(stray, audiences);
  const given = new Map<SettingName, string>();
  for (const argument of flags) {
    const flag = flagPart(argument);
    const name = settingNames.find(candidate => flagOf(candidate) === flag)!;
    if (given.has(name)) throw new ConfigError(`${flag} is set twice`);
    given.set(name, argument.slice(flag.length + 1));
  }
  return given;
}

/** An empty variable counts as absent, because that is how scripts and compose files leave one out. */
export function fromEnvironment(env: Environment, readFile: (path: string) => string): Given {
  const given = new Map<SettingName, string>();
  for (const [variable, value = ''] of Object.entries(env)) {
    const named = namedBy(variable);
    if (named === undefined || value === '') continue;
    const { name, isInFile } = named;
    if (given.has(name)) throw new ConfigError(`${settingOf(name).env} is given both as it is and in a file`);
    given.set(name, isInFile ? contentOf(variable, value, readFile) : value);
  }
  return given;
}

const byVariable = new Map(settingNames.map(name => [settingOf(name).env, name]));
/** Added to the name of a variable: the value is in the file that it names, which is how secrets are often given. */
const fileEnding = '_FILE';

/** Undefined for a name that is not a setting; throws for one that looks like a setting of ours and is none. */
function namedBy(variable: string): { name: SettingName; isInFile: boolean } | undefined {
  const name = byVariable.get(variable);
  if (name !== undefined) return { name, isInFile: false };
  const isOurs =
    variable.startsWith('TERSE_') && !variable.startsWith('TERSE_TEST_') && variable !== supervisedVariable;
  if (!isOurs) return undefined;
  const inFile = variable.endsWith(fileEnding) ? variable.slice(0, -fileEnding.length) : '';
  const nameInFile = byVariable.get(inFile);
  // A file names no other file.
  if (nameInFile !== undefined && nameInFile !== 'config') return { name: nameInFile, isInFile: true };
  throw new ConfigError(
    `the environment variable ${variable} is not a setting${suggestion(variable, [...byVariable.keys()])}`,
  );
}

/** Without the end of the line, which editors and orchestrators add. */
function contentOf(variable: string, path: string, readFile: (path: string) => string): string {
  try {
    return readFile(path).replace(/\r?\n$/, '');
  } catch (error) {
    throw new ConfigError(`${variable}=${path} cannot be read${reasonOf(error)}`);
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? ` (${error.code})` : '';

export function fromFile(file: string, readFile: (path: string) => string): Given {
  const given = new Map<SettingName, string>();
  for (const [key, value] of Object.entries(parsedObject(file, readFile))) {
    const name = settingNames.find(candidate => candidate === key);
    if (name === undefined) {
      throw new ConfigError(`${key} in ${file} is not a setting${suggestion(key, settingNames)}`);
    }
    if (name === 'config')
      throw new ConfigError(`config cannot be set in ${file}: a file names no other file`);
    given.set(name, textOf(name, value, file));
  }
  return given;
}

function parsedObject(file: string, readFile: (path: string) => string): object {
  let content: string;
  try {
    content = readFile(file);
  } catch (error) {
    throw new ConfigError(`the configuration file ${file} cannot be read${reasonOf(error)}`);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch {
    // The parser's own message quotes the content, which may be a secret.
    throw new ConfigError(`the configuration file ${file} is not valid JSON`);
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  throw new ConfigError(`the configuration file ${file} must hold one JSON object`);
}

function textOf(name: SettingName, value: unknown, file: string): string {
  const { kind } = settingOf(name);
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && kind === 'number') return String(value);
  if (typeof value === 'boolean' && kind === 'switch') return value ? 'on' : 'off';
  if (Array.isArray(value) && kind === 'list' && value.every(item => typeof item === 'string')) {
    return value.length === 0 ? 'none' : value.join(',');
  }
  const expected = {
    text: 'a string',
    number: 'a number',
    list: 'a list of strings',
    switch: 'true or false',
  };
  throw new ConfigError(`${name} in ${file} must be ${expected[kind]}`);
}

function unknownArgument(argument: string, audiences: readonly Audience[]): ConfigError {
  if (!argument.startsWith('-')) return new ConfigError(`unexpected argument ${argument}`);
  const known = settingNames.filter(name => audiences.includes(settingOf(name).audience)).map(flagOf);
  // Only the name is shown: the value of a mistyped --admin-key is still a secret.
  const flag = flagPart(argument);
  return new ConfigError(`${flag} is not a flag${suggestion(flag, known)}`);
}

function flagPart(argument: string): string {
  const equals = argument.indexOf('=');
  return argument.startsWith('--') && equals !== -1 ? argument.slice(0, equals) : argument;
}

/** Compares without `TERSE_`, so that TERSE_PORT finds PORT and a variable's name finds a file's key. */
function suggestion(word: string, names: readonly string[]): string {
  const short = (name: string): string => name.replace(/^TERSE_/i, '');
  const close = closestName(short(word), names.map(short));
  const name = names.find(candidate => short(candidate) === close);
  return name === undefined ? '; `terse help serve` lists them' : `: did you mean ${name}?`;
}
