/** What statistics in ClickHouse need of the other settings: one line that says what to change. */
import type { Config } from './config.ts';
import { ConfigError, givenAs } from './config-sources.ts';

/** The embedded log of a machine is counted on that machine alone, and knows no block that could be sent twice. */
export function requireStatsParts(config: Config): void {
  if (config.stats === 'sqlite' || config.stream !== 'embedded') return;
  const given = givenAs('stats', config.sources.stats, config.stats, config.config);
  throw new ConfigError(`${given} needs TERSE_STREAM=kafka://…, which carries the clicks there`);
}
