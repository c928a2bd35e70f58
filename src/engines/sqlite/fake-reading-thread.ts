/** A reading thread with answers made for tests: words and their lengths; some questions break it. */
import { runReadingLoop } from './reading-thread.ts';

runReadingLoop(database => {
  const lengthOf = database.query<{ length: number }, [string]>(
    'SELECT length(word) AS length FROM words WHERE word = ?',
  );
  return question => {
    if (question === 'fail') throw new Error('a page cannot be read');
    if (question === 'die') process.exit(1);
    return lengthOf.get(question)?.length;
  };
});
