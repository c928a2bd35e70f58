import { sharedClickHouse } from '../kit/engines/clickhouse.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { kafkaClicksConformance } from './kafka-clicks.conformance.ts';

describeWithEngine('kafka', 'clicks through Kafka', () =>
  describeWithEngine('clickhouse', 'counted in ClickHouse', () =>
    kafkaClicksConformance(async () => (await sharedClickHouse()).freshDatabaseUrl(), {
      isOnlyCounting: true,
    }),
  ),
);
