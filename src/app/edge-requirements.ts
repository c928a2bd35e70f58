/** What purging needs of the other settings. Each refusal is one line that says what to change. */
import { parsePurgeAddress } from '../edge/purge-address.ts';
import type { Config } from './config.ts';
import { ConfigError, givenAs } from './config-sources.ts';

export function requireEdgeParts(config: Config, hasKeys: boolean): void {
  const { edgePurge, edgePurgeToken, sources } = config;
  const given = givenAs('edgePurge', sources.edgePurge, edgePurge.join(','), config.config);
  const kinds = new Set(edgePurge.map(address => parsePurgeAddress(address).kind));
  if (kinds.has('fastly') && edgePurgeToken === undefined)
    throw new ConfigError(`${given} needs TERSE_EDGE_PURGE_TOKEN, a token of Fastly's that may purge`);
  if (kinds.has('cloudfront') && !hasKeys)
    throw new ConfigError(`${given} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment`);
  const names = [...kinds];
  // One token for all would tell each of them how to speak for the other.
  if (kinds.has('fastly') && names.some(kind => kind === 'keys' || kind === 'paths'))
    throw new ConfigError(`${given} is not allowed: Fastly's token must not go to other caches`);
}
