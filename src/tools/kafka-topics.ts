/** The topics and groups that the settings need: the same for servers, which create them, `terse setup` and doctor. */

import { archiveGroupOf, clickTopicPlans } from '../clicks/open-kafka.ts';
import type { Config } from '../config/config.ts';
import { parseKafkaAddress } from '../engines/kafka/address.ts';
import type { TopicPlan } from '../engines/kafka/topics.ts';
import { deadTopicPlan, drainGroupOf, linksTopicPlan } from '../links/queues/kafka/queue.ts';

export type StreamConfig = Pick<Config, 'stream' | 'clicks' | 'clickDays' | 'writes' | 'archive'>;

export function kafkaTopicPlans({ stream, clicks, clickDays, writes }: StreamConfig): TopicPlan[] {
  const address = parseKafkaAddress(stream);
  return [
    ...(clicks ? clickTopicPlans(address, clickDays) : []),
    ...(writes === 'queued' ? [linksTopicPlan(address), deadTopicPlan(address)] : []),
  ];
}

/** Under which names processes share partitions. */
export function kafkaGroups({ stream, clicks, writes, archive }: StreamConfig): string[] {
  const address = parseKafkaAddress(stream);
  return [
    ...(clicks ? [address.group] : []),
    ...(clicks && archive !== undefined ? [archiveGroupOf(address)] : []),
    ...(writes === 'queued' ? [drainGroupOf(address)] : []),
  ];
}
