/** What the archive needs of the other settings. Each refusal is one line that says what to change. */
import { parseKafkaAddress } from '../engines/kafka/address.ts';
import type { Config } from './config.ts';
import { ConfigError, givenAs } from './config-sources.ts';

/** A day is archived an hour after it has ended, and there must be time to notice when that fails. */
const retentionHoursMin = 72;

export function requireArchiveParts(config: Config, hasKeys: boolean): void {
  if (config.archive === undefined) return;
  const given = givenAs('archive', config.sources.archive, config.archive, config.config);
  if (config.stream !== 'embedded' && parseKafkaAddress(config.stream).retentionHours < retentionHoursMin) {
    throw new ConfigError(
      `${given} needs clicks to stay in Kafka until their day is archived: use retentionHours=${retentionHoursMin} or more`,
    );
  }
  if (!hasKeys) {
    throw new ConfigError(`${given} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment`);
  }
}
