/** The entry point of the thread that reads links for redirects while the disk is slow. */
import { runReadingLoop } from '../engines/sqlite/reading-thread.ts';
import { prepareFind } from '../links/stores/sqlite/reads.ts';

runReadingLoop(prepareFind);
