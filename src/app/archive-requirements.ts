/** What the archive needs of the other settings. Each refusal is one line that says what to change. */
import type { Config } from './config.ts';
import { ConfigError, givenAs } from './config-sources.ts';

export function requireArchiveParts(config: Config, hasKeys: boolean): void {
  if (config.archive === undefined) return;
  const given = givenAs('archive', config.sources.archive, config.archive, config.config);
  if (config.stream !== 'embedded') {
    throw new ConfigError(`${given} is not allowed with Kafka: only the embedded click log is archived`);
  }
  if (!hasKeys) {
    throw new ConfigError(`${given} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment`);
  }
}
