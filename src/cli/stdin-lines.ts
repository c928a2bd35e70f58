/**
 * Lines of the standard input in batches, so that a list of any length is shortened in bounded memory.
 * Invariant: a batch has at most `batchMax` lines and keeps the number of each, for messages.
 */
import { UsageError } from './command.ts';

export interface InputLine {
  readonly number: number;
  readonly text: string;
}

/** A line longer than this is no URL that could be shortened. */
const lineLengthMax = 65_536;

export async function* lineBatches(
  input: AsyncIterable<Uint8Array>,
  batchMax: number,
): AsyncGenerator<InputLine[]> {
  let batch: InputLine[] = [];
  for await (const line of linesOf(input)) {
    batch.push(line);
    if (batch.length < batchMax) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Blank lines are counted but left out. */
async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<InputLine> {
  let number = 0;
  let rest = '';
  for await (const text of decoded(input)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      number += 1;
      if (line.trim() !== '') yield { number, text: checked(line.trim(), number) };
    }
    checked(rest, number + 1);
  }
  if (rest.trim() !== '') yield { number: number + 1, text: rest.trim() };
}

async function* decoded(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch {
      throw new UsageError('the standard input is not UTF-8 text');
    }
  };
  for await (const chunk of input) yield decode(chunk);
  yield decode();
}

function checked(line: string, number: number): string {
  if (line.length > lineLengthMax) throw new UsageError(`line ${number} of the standard input is too long`);
  return line;
}
