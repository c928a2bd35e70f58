/**
 * What a command is and what it is given. A command speaks to the server through the public HTTP API only, or does
 * local work that is handed in, and touches the outside world only through its context, so tests run it in process.
 */
import type { Config } from '../app/config.ts';
import type { EffectiveSetting, SettingHelp } from '../app/config-report.ts';
import type { Audience } from '../app/settings.ts';
import type { Clock } from '../base/clock.ts';
import type { Arguments } from './arguments.ts';
import type { LocalWork } from './local-work.ts';

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** What follows the name, such as `CODE [options]`. */
  readonly usage: string;
  readonly options: readonly Option[];
  /** How many arguments beside options it takes. */
  readonly operands: { readonly min: number; readonly max: number };
  /** Whose settings it accepts as flags. */
  readonly audiences: readonly Audience[];
  /** Resolves to the exit code. Absent for `serve`, which main.ts starts without loading the other commands. */
  readonly run?: (context: CommandContext, given: Arguments) => Promise<number>;
}

export interface Option {
  readonly flag: `--${string}`;
  /** The name of the value in the help; absent for a flag that is either there or not. */
  readonly value?: string;
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

/** The world around the command line, given by main.ts. */
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

/** The server said no, or could not be asked. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
}
