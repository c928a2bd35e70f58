/** Whoever asks is told the same whichever engine of the answer is away. */
import { Problem } from '../base/errors.ts';
import { isPassing, KafkaRefusal, KafkaUnavailable } from '../engines/kafka/failures.ts';

export async function told<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    const isOfKafka = error instanceof KafkaUnavailable || error instanceof KafkaRefusal;
    if (!isOfKafka || !isPassing(error)) throw error;
    throw new Problem('stats_unavailable', { detail: 'Kafka does not answer for now.', cause: error });
  }
}
