/** What queued writes need of the other settings. Each refusal is one line that says what to change. */
import { parseRegion } from '../codes/id-share.ts';
import { pendingLifeMs } from '../links/pending.ts';
import type { Config } from './config.ts';
import { ConfigError, givenAs } from './config-sources.ts';

const graceDaysMin = pendingLifeMs / (24 * 60 * 60 * 1_000);

export function requireQueueParts(config: Config): void {
  if (config.writes !== 'queued') return;
  const given = (name: 'writes' | 'expiryGraceDays' | 'codeStrategy' | 'region'): string =>
    givenAs(name, config.sources[name], String(config[name]), config.config);
  if (config.stream === 'embedded' || config.cache === 'none') {
    throw new ConfigError(
      `${given('writes')} needs TERSE_STREAM=kafka://… for its queue and TERSE_CACHE=redis://… to find what is in it`,
    );
  }
  if (config.codeStrategy !== 'range') {
    throw new ConfigError(
      `${given('codeStrategy')} is not allowed with queued writes: only codes of the range strategy are known to be free; use range, or direct writes`,
    );
  }
  if (config.expiryGraceDays < graceDaysMin) {
    throw new ConfigError(
      `${given('expiryGraceDays')} is not allowed with queued writes: a link may wait in the queue for ${graceDaysMin} days; use ${graceDaysMin} or more`,
    );
  }
  if (parseRegion(config.region)?.count !== 1) {
    throw new ConfigError(
      `${given('region')} is not allowed with queued writes: a link that waits is found through the Redis of one region only; use direct writes`,
    );
  }
}
