/**
 * Everything that prevents a server from starting and can be checked without an engine or a port. `serve` stops at the
 * first failure and `terse doctor` reports all of them, both from one list, so a check that is added here is added to
 * both.
 */
import { readFileSync } from 'node:fs';
import { type Config, ConfigError, settingRefusals } from '../config/config.ts';
import { settingOf } from '../config/settings.ts';
import { throwFirst } from '../config/sources.ts';
import { parseWordFile } from '../links/alias-words.ts';
import { requireWholeFolder } from '../stores/await-store.ts';

/** All problems. Of several that depend on the same thing, such as one file, only the first. */
export function* startRefusals(config: Config): Iterable<ConfigError> {
  yield* settingRefusals(config);
  yield* refusalOf(() => requireWholeFolder(config.data));
  yield* refusalOf(() => readWords(config, 'reservedFile', []));
  yield* refusalOf(() => readWords(config, 'offensiveFile', []));
}

export const requireStart = (config: Config): void => throwFirst(startRefusals(config));

function* refusalOf(check: () => unknown): Iterable<ConfigError> {
  try {
    check();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    yield error;
  }
}

/** The words of the file that the setting names, beside the defaults. */
export function readWords<Name extends 'reservedFile' | 'offensiveFile'>(
  config: Pick<Config, Name>,
  setting: Name,
  defaults: readonly string[],
): readonly string[] {
  const path: string | undefined = config[setting];
  if (path === undefined) return defaults;
  try {
    return parseWordFile(readFileSync(path, 'utf8'), defaults);
  } catch (error) {
    const { env } = settingOf(setting);
    throw new ConfigError(
      `${env} ${path} cannot be used: ${(error as Error).message}`,
      `correct the file, or the path in ${env}`,
    );
  }
}
