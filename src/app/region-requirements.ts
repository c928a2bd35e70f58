/** What being one of several regions needs of the other settings. Each refusal is one line that says what to change. */
import { parseRegion } from '../codes/id-share.ts';
import type { Config } from './config.ts';
import { ConfigError, givenAs } from './config-sources.ts';

export function requireRegionParts(config: Config): void {
  if (parseRegion(config.region)?.count === 1) return;
  const given = (name: 'region' | 'codeStrategy'): string =>
    givenAs(name, config.sources[name], String(config[name]), config.config);
  if (config.links === 'sqlite' || config.links === 'memory') {
    throw new ConfigError(
      `${given('region')} needs TERSE_LINKS=postgres://… or dynamodb://…: regions share links, and a folder is in one of them`,
    );
  }
  if (config.codeStrategy === 'random' || config.codeStrategy === 'hash') {
    throw new ConfigError(
      `${given('codeStrategy')} is not allowed with several regions: two of them could give the same code; use range`,
    );
  }
}
