/**
 * Text for a terminal. Titles and URLs come from strangers, so everything from the server passes through
 * `harmless` before it is shown. Invariant: no control character of theirs reaches the terminal.
 */
import type { Output } from './command.ts';

/** Control and direction-changing characters, made visible instead of obeyed. */
export function harmless(text: string): string {
  return text.replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu, escaped);
}

/** JSON that is safe on a terminal: the same document, with rare control characters escaped. */
export function printJson(output: Output, value: unknown): void {
  const json = JSON.stringify(value, undefined, 2);
  // Line breaks outside strings are the layout; inside strings JSON has already escaped them.
  output.write(`${json.replace(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, escaped)}\n`);
}

export function printLine(output: Output, text: string): void {
  output.write(`${text}\n`);
}

export type Colour = 'bold' | 'green' | 'yellow' | 'red';

const colourCodes: Record<Colour, number> = { bold: 1, red: 31, green: 32, yellow: 33 };

/** Colours text on a terminal and leaves it alone in a pipe or a file. */
export function paint(output: Output, colour: Colour, text: string): string {
  return output.isTty ? `\u001b[${colourCodes[colour]}m${text}\u001b[0m` : text;
}

export function statusColour(status: string): Colour {
  if (status === 'active') return 'green';
  return status === 'disabled' ? 'yellow' : 'red';
}

/**
 * Columns as wide as their widest cell. On a terminal the last column is cut to fit the line; in a pipe
 * nothing is cut, because a script may need it all.
 */
export function printTable(
  output: Output,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  colourOf?: (cell: string, column: number) => Colour | undefined,
): void {
  const cells = rows.map(row => row.map(harmless));
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...cells.map(row => Bun.stringWidth(row[column] ?? ''))),
  );
  const last = headings.length - 1;
  const spaceBefore = widths.slice(0, last).reduce((sum, width) => sum + width + gap.length, 0);
  const lastWidth = Math.max((output.columns ?? Number.POSITIVE_INFINITY) - spaceBefore, 8);

  const line = (
    row: readonly string[],
    colours: (cell: string, column: number) => Colour | undefined,
  ): string =>
    row
      .map((cell, column) => {
        const shown = column === last ? cut(cell, lastWidth) : cell;
        const padding = column === last ? '' : ' '.repeat(widths[column]! - Bun.stringWidth(shown));
        const colour = colours(cell, column);
        return (colour === undefined ? shown : paint(output, colour, shown)) + padding;
      })
      .join(gap)
      .trimEnd();

  printLine(
    output,
    line(headings, () => 'bold'),
  );
  for (const row of cells) printLine(output, line(row, colourOf ?? (() => undefined)));
}

/** Names and values below one another; rows without a value are left out. */
export function printFields(
  output: Output,
  fields: readonly (readonly [string, string | undefined])[],
): void {
  const width = Math.max(...fields.map(([name]) => name.length));
  for (const [name, value] of fields) {
    if (value === undefined) continue;
    printLine(output, `${paint(output, 'bold', name.padEnd(width))}${gap}${harmless(value)}`);
  }
}

const gap = '  ';

function cut(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let kept = '';
  let used = 1;
  for (const character of text) {
    used += Bun.stringWidth(character);
    if (used > width) break;
    kept += character;
  }
  return `${kept}…`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
