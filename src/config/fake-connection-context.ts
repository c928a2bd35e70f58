/** For tests of the configuration: loads one from what a test gives, without touching the process. */
import { type Config, ConfigError, loadConfig } from './config.ts';

export interface GivenSettings {
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The content of terse.json: text as it is, anything else as JSON. */
  readonly file?: unknown;
}

export function load({ argv = [], env = {}, file }: GivenSettings = {}): Config {
  if (file === undefined) return loadConfig({ argv, env, readFile: noFile });
  const content = typeof file === 'string' ? file : JSON.stringify(file);
  return loadConfig({ argv, env: { TERSE_CONFIG: 'terse.json', ...env }, readFile: () => content });
}

/** The line that refuses the configuration; throws when it is accepted. */
export function refusal(given: GivenSettings): string {
  try {
    load(given);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

export function noFile(): string {
  throw new Error('no file is read in this test');
}
