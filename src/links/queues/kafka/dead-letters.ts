/**
 * Dead letters as messages that brokers take. What cannot become a link may be anything that a broker once took, and
 * grows on its way: a byte that is no text becomes three, a control character six. A letter that is refused for its size would
 * be tried for ever, and everything behind it would wait.
 * Invariant: every letter fits into a write, and one that had to be cut says how long it was.
 */
import type { DeadLetter } from '../../queue.ts';
import { piecesOf } from './pieces.ts';

/** Less than half of what brokers take at once. */
export const letterBytesMax = 400_000;
/** Enough to understand it; some reasons repeat what they are about. */
const reasonCharactersMax = 1_000;

/** What can be written at once, one write after the other. */
export function letterPieces(letters: readonly DeadLetter[]): Generator<readonly Buffer[]> {
  return piecesOf(letters.map(messageOf), letterBytesMax);
}

function messageOf(letter: DeadLetter): Buffer {
  const whole = encode(letter);
  return whole.length <= letterBytesMax ? whole : cut(letter);
}

/** Halves the text until it fits, because what a character takes differs. */
function cut({ text, place, reason }: DeadLetter): Buffer {
  const shortReason = reason.slice(0, reasonCharactersMax);
  for (let kept = text.length; ; kept = Math.floor(kept / 2)) {
    const note = kept < text.length ? ` (of ${text.length} characters only the first ${kept} are kept)` : '';
    const message = encode({ text: text.slice(0, kept), place, reason: shortReason + note });
    if (message.length <= letterBytesMax || kept === 0) return message;
  }
}

const encode = (letter: DeadLetter): Buffer => Buffer.from(JSON.stringify(letter));
