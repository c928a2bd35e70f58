/** The other side of `ReadingThread`: opens the file that it is told first, then answers lists of questions. */
import type { Database } from 'bun:sqlite';
import { systemClock } from '../../base/clock.ts';
import { openForReading } from './database.ts';
import type { ReadingReply } from './reading-thread.ts';

declare const self: Worker;

export function runReadingLoop(prepareAnswer: (database: Database) => (question: string) => unknown): void {
  // As text, which crosses between threads for less than objects do.
  const reply = (message: ReadingReply): void => self.postMessage(JSON.stringify(message));
  let answer: ((question: string) => unknown) | undefined;
  self.onmessage = ({ data }: MessageEvent<string>) => {
    try {
      if (answer === undefined) answer = prepareAnswer(openForReading(data));
      else reply(answersTo(JSON.parse(data) as string[], answer));
    } catch (error) {
      reply({ fault: error instanceof Error ? error.message : String(error) });
    }
  };
}

function answersTo(questions: readonly string[], answer: (question: string) => unknown): ReadingReply {
  let longestMs = 0;
  const answers = questions.map(question => {
    const startedMs = systemClock.monotonicMs();
    const found = answer(question);
    longestMs = Math.max(longestMs, systemClock.monotonicMs() - startedMs);
    // What is undefined would not be there in the text, and in a list it would be null.
    return found ?? null;
  });
  return { answers, longestMs };
}
