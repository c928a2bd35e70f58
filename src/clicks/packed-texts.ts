/**
 * Packs many short texts into bytes where a list of strings costs too much: between threads and in frames. Each
 * unpacked text is a separate string, so that one of them does not keep all the others in memory.
 */
export interface PackedTexts {
  readonly lengths: Uint8Array;
  readonly bytes: Uint8Array;
}

const lengthMax = 255;
const encoder = new TextEncoder();

/** Undefined when a text is too long or not ASCII. */
export function packTexts(texts: readonly string[]): PackedTexts | undefined {
  const lengths = new Uint8Array(texts.length);
  for (let index = 0; index < texts.length; index += 1) {
    const { length } = texts[index]!;
    if (length > lengthMax) return undefined;
    lengths[index] = length;
  }
  const joined = texts.join('');
  const bytes = encoder.encode(joined);
  // Any other character takes more than one byte.
  return bytes.length === joined.length ? { lengths, bytes } : undefined;
}

/** Throws when the lengths do not add up to the bytes. */
export function unpackTexts({ lengths, bytes }: PackedTexts): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  let from = 0;
  for (let index = 0; index < lengths.length; index += 1) {
    const to = from + lengths[index]!;
    texts.push(buffer.toString('latin1', from, to));
    from = to;
  }
  if (from !== buffer.length) throw new RangeError('packed texts have other lengths than they say');
  return texts;
}
