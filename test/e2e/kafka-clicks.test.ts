import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { kafkaClicksConformance } from './kafka-clicks.conformance.ts';

describeWithEngine('kafka', 'clicks through Kafka, counted in SQLite', () =>
  kafkaClicksConformance(async () => 'sqlite'),
);
