/**
 * What a command is, what it receives and how its arguments are parsed. A command calls the server through the public
 * HTTP API only, or does local work that is passed in, and touches the outside world only through its context, so tests
 * run it in process.
 */
import { parseArgs } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { closestName } from '../base/did-you-mean.ts';
import type { Finding } from '../base/finding.ts';
import type { Config } from '../config/config.ts';
import type { EffectiveSetting, SettingHelp } from '../config/report.ts';
import type { Audience } from '../config/settings.ts';

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** The arguments after the name, such as `CODE [options]`. */
  readonly usage: string;
  readonly options: readonly Option[];
  /** How many arguments beside options it takes. */
  readonly operands: { readonly min: number; readonly max: number };
  /** Whose settings it accepts as flags. */
  readonly audiences: readonly Audience[];
  /** Resolves to the exit code, or to nothing for success. Absent for `serve`, which main.ts starts by itself. */
  readonly run?: (context: CommandContext, given: Arguments) => Promise<number> | Promise<void>;
}

export interface Option {
  readonly flag: `--${string}`;
  /** The name of the value in the help; absent for a flag that is either there or not. */
  readonly value?: string;
  /** Whether it can be given more than once. */
  readonly isRepeatable?: boolean;
  readonly doc: string;
}

export const jsonOption: Option = { flag: '--json', doc: 'Print JSON instead of text.' };

export interface Output {
  write(chunk: string | Uint8Array): void;
  readonly isTty: boolean;
  /** The width of the terminal, where there is one. */
  readonly columns: number | undefined;
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The environment of the command line, given by main.ts. */
export interface GivenWorld {
  readonly fetch: Fetch;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly readStdin: () => AsyncIterable<Uint8Array>;
  readonly writeFile: (path: string, bytes: Uint8Array) => Promise<void>;
  /** The system's unless given. */
  readonly clock?: Clock;
  readonly version: string;
  readonly settings: SettingsAccess;
  readonly local: LocalWork;
}

export interface CliWorld extends GivenWorld {
  readonly clock: Clock;
}

/** The part of the configuration that the command line uses; handed in because only types may cross over. */
export interface SettingsAccess {
  /**
   * Takes the settings out of the arguments. Without an audience the configuration is the defaults, whatever
   * the environment says, so that help and version answer also when it is broken.
   */
  load(argv: readonly string[], audiences: readonly Audience[]): { config: Config; rest: readonly string[] };
  help(): readonly SettingHelp[];
  describe(config: Config): readonly EffectiveSetting[];
  /** Throws when the server would not start with this configuration. */
  requireSupported(config: Config): void;
}

export interface CommandContext extends CliWorld {
  readonly config: Config;
}

export const exitCodes = { ok: 0, refused: 1, usage: 2 } as const;

/** The command line itself is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The server refused, or could not be reached. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
}

export class Arguments {
  readonly operands: readonly string[];
  /** The values of each option; more than one only of those that are repeatable. */
  readonly #options: ReadonlyMap<string, readonly string[]>;

  constructor(operands: readonly string[], options: ReadonlyMap<string, readonly string[]>) {
    this.operands = operands;
    this.#options = options;
  }

  has(flag: Option['flag']): boolean {
    return this.#options.has(flag);
  }

  text(flag: Option['flag']): string | undefined {
    return this.#options.get(flag)?.[0];
  }

  /** Every value of a repeatable option, in order. */
  all(flag: Option['flag']): readonly string[] {
    return this.#options.get(flag) ?? [];
  }

  /** The options of these names that were given, as members of a request: `--time-zone` is `timeZone`. */
  texts(...names: readonly string[]): Record<string, string> {
    const flagOf = (name: string): string =>
      `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;
    return Object.fromEntries(
      names
        .map(name => [name, this.#options.get(flagOf(name))?.[0]])
        .filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
  }

  wholeNumber(flag: Option['flag']): number | undefined {
    const text = this.text(flag);
    if (text === undefined) return undefined;
    if (!/^\d{1,15}$/.test(text)) throw new UsageError(`${flag} must be a whole number`);
    return Number(text);
  }

  oneOf<const Word extends string>(flag: Option['flag'], words: readonly Word[]): Word | undefined {
    const text = this.text(flag);
    if (text === undefined) return undefined;
    const word = words.find(candidate => candidate === text);
    if (word === undefined) throw new UsageError(`${flag} must be one of ${words.join(', ')}`);
    return word;
  }
}

/**
 * Splits the arguments of a command into options and operands; after `--` everything is an operand.
 * Only options of the command's own table come out, each at most once unless it is repeatable.
 */
export function parseArguments(command: Command, argv: readonly string[]): Arguments {
  const kinds = command.options.map(({ flag, value }) => [
    flag.slice(2),
    { type: value === undefined ? 'boolean' : 'string' } as const,
  ]);
  const { positionals, tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(kinds),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const options = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { rawName: flag, value, inlineValue } = token;
    const option = command.options.find(candidate => candidate.flag === flag);
    if (option === undefined) throw unknownOption(command, flag);
    const earlier = options.get(flag) ?? [];
    if (earlier.length > 0 && !option.isRepeatable) throw new UsageError(`${flag} is set twice`);
    if (option.value === undefined && inlineValue) throw new UsageError(`${flag} takes no value`);
    const isMissing = value === undefined || (!inlineValue && value.startsWith('--'));
    if (option.value !== undefined && isMissing)
      throw new UsageError(`${flag} needs a value: ${flag}=${option.value}`);
    options.set(flag, [...earlier, value ?? '']);
  }
  checkOperands(command, positionals.length);
  return new Arguments(positionals, options);
}

function checkOperands(command: Command, count: number): void {
  const { min, max } = command.operands;
  if (count >= min && count <= max) return;
  const problem = count < min ? 'something is missing' : 'there is too much';
  throw new UsageError(`${problem}; usage: terse ${command.name} ${command.usage}`.trimEnd());
}

function unknownOption(command: Command, flag: string): UsageError {
  const clientFlags = command.audiences.includes('client') ? ['--server', '--key'] : [];
  const known = [...command.options.map(option => option.flag), ...clientFlags, '--config', '--help'];
  const close = closestName(flag, known);
  const advice = close === undefined ? `\`terse help ${command.name}\` lists them` : `did you mean ${close}?`;
  return new UsageError(`${flag} is not an option of ${command.name}: ${advice}`);
}

/**
 * What a command can do without a server: work on the stores directly. Only `app` knows engines, so main.ts passes it
 * in; these are the types between the two.
 */
export interface LocalWork {
  /** `tell` receives lines to show during the run. A failure is thrown as a `RequestError` of one line. */
  migrate(request: MigrateRequest, tell: (line: string) => void): Promise<MigrateReport>;
  /** Creates what the engines of the settings lack. A failure is thrown as a `RequestError` of one line. */
  setUp(config: Config): AsyncIterable<SetUpReport>;
  /**
   * Days in the archive of the settings; given a day, restores it and all later ones first.
   * A failure is thrown as a `RequestError` of one line.
   */
  archive(
    config: Config,
    restoreDay: string | undefined,
    tell: (line: string) => void,
  ): Promise<readonly string[]>;
  /**
   * Counts what a cache answered itself, from its log: a path, or the bytes themselves. A failure is thrown as a
   * `RequestError` of one line.
   */
  importClicks(config: Config, log: string | AsyncIterable<Uint8Array>): Promise<ImportReport>;
  /** Backs up what the data folder of the settings keeps. A failure is thrown as a `RequestError` of one line. */
  backUp(config: Config, folder: string, tell: (line: string) => void): Promise<BackupReport>;
  /** Reads a whole backup. A problem with it is thrown as a `RequestError` of one line. */
  checkBackup(folder: string): Promise<BackupReport>;
  /** Restores a backup into the data folder of the settings. A failure is thrown as a `RequestError` of one line. */
  restore(
    config: Config,
    folder: string,
    margin: number | undefined,
    tell: (line: string) => void,
  ): Promise<RestoreReport>;
  /** The marks of the store of the settings, raised by so many ids if a number is given. */
  marks(config: Config, by: number | undefined): Promise<readonly MarkReport[]>;
  /** Examines everything the settings name; a problem is a finding, never thrown. */
  examine(config: Config): Promise<readonly Finding[]>;
}

export interface SetUpReport {
  /** Such as `the DynamoDB table terse at eu-west-1`; names no secret. */
  readonly store: string;
  /** What was missing and was created. */
  readonly done: readonly string[];
  /** What existed before and is correct, where that is worth a line. */
  readonly found?: readonly string[];
  /** What existed before, differs from the settings and was left unchanged, each with how to change that. */
  readonly differences?: readonly string[];
  /** Differences with which Terse would lose data or not work. */
  readonly failures?: readonly string[];
  /** A later step failed; the error follows. */
  readonly isIncomplete?: true;
}

export interface ImportReport {
  readonly imported: number;
  /** Clicks that an earlier import added. */
  readonly known: number;
  /** Visits that the server answered itself, and has counted. */
  readonly seen: number;
  readonly other: number;
  readonly unreadable: number;
}

export interface BackupReport {
  /** When it began: everything acknowledged before is in it. */
  readonly startedAt: number;
  /** Undefined when links are kept elsewhere. */
  readonly links: number | undefined;
}

export interface RestoreReport extends BackupReport {
  /** Undefined when this run only completed an interrupted restore. */
  readonly marks: readonly MarkReport[] | undefined;
}

/** The id up to which codes of a length count as issued. */
export interface MarkReport {
  readonly length: number;
  /** Where the mark's share of the ids begins: 0, unless there are regions. */
  readonly first: number;
  readonly before: number;
  readonly after: number;
}

export interface MigrateRequest {
  readonly from: string;
  readonly to: string;
  readonly isFinal: boolean;
  readonly isDryRun: boolean;
  readonly recordsPerS: number | undefined;
}

export type MigrateReport =
  | { readonly kind: 'tried' }
  | { readonly kind: 'following'; readonly differences: number }
  | { readonly kind: 'finished'; readonly parts: readonly ComparedPart[] };

/** One part on both sides: how many records, and a checksum over all of them. */
export interface ComparedPart {
  readonly part: string;
  readonly source: { readonly count: number; readonly checksum: string };
  readonly target: { readonly count: number; readonly checksum: string };
  /** False for marks, which the target has higher. */
  readonly isSame: boolean;
}
