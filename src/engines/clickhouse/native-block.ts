/**
 * Columns as bytes, in the format that ClickHouse calls Native: what lies in typed arrays is sent as it lies, and a
 * text that repeats is sent once, with a position for each row. A hundred thousand clicks cost the sender milliseconds,
 * where a line of text for each would cost a hundred times that.
 *
 *   block     columns varint · rows varint · column…
 *   column    name · type · what the type asks for
 *   number    the values, little-endian
 *   word      version u64 · flags and width u64 · texts u64 · text… · rows u64 · positions
 *   words     version u64 · ends u64… · the rest of a word column for all of them together
 */
export interface NativeColumn {
  readonly name: string;
  readonly type: string;
  readonly parts: readonly Uint8Array[];
}

type Numbers = Uint8Array | Uint16Array | Uint32Array;

const wordType = 'LowCardinality(String)';
const wordVersion = 1;
/** The texts come with the block, and nothing is known of them before. */
const ownTextsFlags = 0x600;

export function numberColumn(name: string, type: string, values: Numbers): NativeColumn {
  return { name, type, parts: [bytesOf(values)] };
}

/** Numbers of 64 bits by their halves, because a whole one would be a BigInt. */
export function longColumn(name: string, type: string, low: Uint32Array, high: Uint32Array): NativeColumn {
  const halves = new Uint32Array(low.length * 2);
  for (let row = 0; row < low.length; row += 1) {
    halves[row * 2] = low[row]!;
    halves[row * 2 + 1] = high[row]!;
  }
  return { name, type, parts: [bytesOf(halves)] };
}

/** Texts must be distinct; `positions` has one for each row. */
export function wordColumn(name: string, texts: readonly string[], positions: Uint32Array): NativeColumn {
  return { name, type: wordType, parts: [long(wordVersion), ...wordParts(texts, positions)] };
}

/** A list of words for each row; `ends` says where each list ends among the positions. */
export function wordsColumn(
  name: string,
  texts: readonly string[],
  ends: Uint32Array,
  positions: Uint32Array,
): NativeColumn {
  const wideEnds = new Uint32Array(ends.length * 2);
  for (let row = 0; row < ends.length; row += 1) wideEnds[row * 2] = ends[row]!;
  return {
    name,
    type: `Array(${wordType})`,
    parts: [long(wordVersion), bytesOf(wideEnds), ...wordParts(texts, positions)],
  };
}

export function nativeBlock(rows: number, columns: readonly NativeColumn[]): Uint8Array[] {
  const parts = [varint(columns.length), varint(rows)];
  for (const column of columns) parts.push(text(column.name), text(column.type), ...column.parts);
  return parts;
}

function wordParts(texts: readonly string[], positions: Uint32Array): Uint8Array[] {
  // A reader that expects no words looks for nothing.
  if (positions.length === 0) return [];
  const [width, narrow] =
    texts.length <= 0x100
      ? ([0, new Uint8Array(positions)] as const)
      : texts.length <= 0x1_0000
        ? ([1, new Uint16Array(positions)] as const)
        : ([2, positions] as const);
  return [
    long(ownTextsFlags | width),
    long(texts.length),
    ...texts.map(text),
    long(positions.length),
    bytesOf(narrow),
  ];
}

const encoder = new TextEncoder();

function text(value: string): Uint8Array {
  const bytes = encoder.encode(value);
  const length = varint(bytes.length);
  const whole = new Uint8Array(length.length + bytes.length);
  whole.set(length);
  whole.set(bytes, length.length);
  return whole;
}

/** Seven bits at a time, the lowest first. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

function long(value: number): Uint8Array {
  return bytesOf(Uint32Array.of(value, 0));
}

function bytesOf(values: Numbers): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
