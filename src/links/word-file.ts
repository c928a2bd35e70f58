/**
 * The operator's say over a default word list. One word per line; `word` or `+word` adds it, `-word` takes
 * a default away, `#` starts a comment, and `!only` as the first instruction drops all defaults. Changes are
 * written relative to the defaults, so that an update of Terse still brings the words it adds.
 *
 * Pure: reading the file is the business of whoever knows where it is.
 */
export function parseWordFile(text: string, defaults: readonly string[]): string[] {
  const lines = instructionsOf(text);
  const isReplacement = lines[0]?.instruction === '!only';
  const words = new Set(isReplacement ? [] : defaults.map(word => word.toLowerCase()));
  for (const { instruction, lineNumber } of isReplacement ? lines.slice(1) : lines) {
    const { action, word } = readInstruction(instruction);
    if (word === '' || /[\s!]/.test(word)) {
      throw new Error(`line ${lineNumber}: ${JSON.stringify(instruction.slice(0, 40))} is not a word`);
    }
    if (action === 'remove') words.delete(word);
    else words.add(word);
  }
  return [...words];
}

/** Trimming also drops a byte order mark, which counts as white space. */
function instructionsOf(text: string): { instruction: string; lineNumber: number }[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((line, position) => ({
      instruction: line.replace(/#.*$/, '').trim().toLowerCase(),
      lineNumber: position + 1,
    }))
    .filter(({ instruction }) => instruction !== '');
}

function readInstruction(instruction: string): { action: 'add' | 'remove'; word: string } {
  if (instruction.startsWith('-')) return { action: 'remove', word: instruction.slice(1) };
  return { action: 'add', word: instruction.startsWith('+') ? instruction.slice(1) : instruction };
}
