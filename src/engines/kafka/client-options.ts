/** What every client of the library is told: where to go, as whom, and not to be patient on its own. */
import type { BaseOptions } from '@platformatic/kafka';
import type { KafkaAddress } from './address.ts';

/** For connecting to one broker; another one is tried next. */
const connectMaxMs = 2_000;
const retryDelayMs = 100;
/** Who leads a partition is asked for anew after this, if no error has made that necessary before. */
const metadataMaxMs = 30_000;

export function clientOptions(
  { servers, isEncrypted, login }: KafkaAddress,
  { name, requestMaxMs, retries }: { name: string; requestMaxMs: number; retries: number },
): BaseOptions {
  return {
    clientId: `terse-${name}`,
    bootstrapBrokers: [...servers],
    connectTimeout: connectMaxMs,
    requestTimeout: requestMaxMs,
    timeout: requestMaxMs,
    retries,
    retryDelay: retryDelayMs,
    metadataMaxAge: metadataMaxMs,
    autocreateTopics: false,
    ...(isEncrypted && { tls: {} }),
    ...(login !== undefined && { sasl: { ...login } }),
  };
}
