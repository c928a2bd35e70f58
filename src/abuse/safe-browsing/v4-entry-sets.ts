/**
 * The additions and removals of a version 4 update. Each is a row of sets, compressed or not, which together are
 * one; what comes out is sorted as our lists are.
 */
import { malformed } from './fault.ts';
import { type Prefixes, prefixesMax } from './prefix-list.ts';
import { bytesOf, fieldsOf, numberOf, numbersOf } from './protobuf.ts';
import { decodeRice, riceDeltasOf } from './rice.ts';

export interface EntrySets {
  readonly additions: Prefixes;
  readonly removals: Uint32Array;
}

/** Every entry set as the bytes of its message. */
export async function readEntrySets(
  additions: readonly Uint8Array[],
  removals: readonly Uint8Array[],
): Promise<EntrySets> {
  const fourByte: Uint32Array[] = [];
  const longer: Uint8Array[] = [];
  for (const set of additions) {
    for (const field of fieldsOf(set)) {
      if (field.number === 2) readRawHashes(bytesOf(field), fourByte, longer);
      if (field.number === 4)
        fourByte.push((await decodeRice(riceDeltasOf(field), prefixesMax)).map(swapBytes));
    }
  }
  const indices: Uint32Array[] = [];
  for (const set of removals) {
    for (const field of fieldsOf(set)) {
      if (field.number === 3) indices.push(readRawIndices(bytesOf(field)));
      if (field.number === 5) indices.push(await decodeRice(riceDeltasOf(field), prefixesMax));
    }
  }
  return {
    additions: { fourByte: joined(fourByte).sort(), longer: longer.sort(Buffer.compare) },
    removals: joined(indices).sort(),
  };
}

function readRawHashes(message: Uint8Array, fourByte: Uint32Array[], longer: Uint8Array[]): void {
  let size = 0;
  let hashes: Uint8Array = new Uint8Array();
  for (const field of fieldsOf(message)) {
    if (field.number === 1) size = numberOf(field);
    if (field.number === 2) hashes = bytesOf(field);
  }
  if (size < 4 || size > 32 || hashes.length % size !== 0) throw malformed(`raw hashes of ${size} bytes`);
  const count = hashes.length / size;
  if (count > prefixesMax) throw malformed('more raw hashes than a list may have');
  if (size === 4) {
    const view = new DataView(hashes.buffer, hashes.byteOffset, hashes.length);
    fourByte.push(Uint32Array.from({ length: count }, (_, index) => view.getUint32(index * 4)));
  } else {
    for (let at = 0; at < hashes.length; at += size) longer.push(hashes.slice(at, at + size));
  }
}

function readRawIndices(message: Uint8Array): Uint32Array {
  const indices = [...fieldsOf(message)].flatMap(field => (field.number === 1 ? numbersOf(field) : []));
  if (indices.some(index => index < 0 || index >= prefixesMax)) throw malformed('a removal out of range');
  return Uint32Array.from(indices);
}

/** A number that was read little-endian becomes the same bytes read big-endian. */
function swapBytes(number: number): number {
  return (
    (((number & 0xff) << 24) | ((number & 0xff00) << 8) | ((number >>> 8) & 0xff00) | (number >>> 24)) >>> 0
  );
}

function joined(parts: readonly Uint32Array[]): Uint32Array {
  const [only, ...more] = parts;
  if (only !== undefined && more.length === 0) return only;
  const all = new Uint32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
