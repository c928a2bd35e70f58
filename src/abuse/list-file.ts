/**
 * Reading lists that may be large and come from elsewhere. What a download leaves behind when it goes wrong (nothing,
 * an error page, half of the lines) must not take the place of the list that is in force.
 */
import { open, stat } from 'node:fs/promises';
import { type CompiledList, entryCount, ListCompiler } from './compiled-list.ts';
import { HeldBack } from './watched-file.ts';

/** A thread does this, so that reading a million lines delays nobody. */
export type CompileFile = (path: string, key: Uint8Array) => Promise<CompiledList>;

const fileBytesMax = 512 * 1024 * 1024;
const pieceBytes = 256 * 1024;
/** Beyond this share of unreadable lines a new version is refused, while there is an old one to keep. */
const unreadableShareMax = 0.1;
/** And beyond this share a text is no list at all. */
const unreadableShareEver = 0.5;
/** Only of lists this long can it be told that they were cut off; a short one is written by hand. */
const longListEntries = 1_000;
const shrunkShare = 0.5;

export async function compileFile(path: string, key: Uint8Array): Promise<CompiledList> {
  const compiler = new ListCompiler(key);
  for await (const piece of textPieces(path)) compiler.feed(piece);
  return compiler.finish();
}

/** The whole file, if it is text of a size that can be meant. */
export async function readText(path: string): Promise<string> {
  let text = '';
  for await (const piece of textPieces(path)) text += piece;
  return text;
}

async function* textPieces(path: string): AsyncGenerator<string> {
  const { size } = await stat(path);
  if (size === 0) throw new Error('the file is empty; a list that is meant to be empty has a comment in it');
  if (size > fileBytesMax) throw new Error(`the file has ${size} bytes; at most ${fileBytesMax} are read`);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const file = await open(path);
  try {
    const bytes = new Uint8Array(pieceBytes);
    for (let bytesRead = -1; bytesRead !== 0; ) {
      ({ bytesRead } = await file.read(bytes, 0, pieceBytes, null));
      const piece = bytes.subarray(0, bytesRead);
      if (piece.includes(0)) throw new Error('the file is not text');
      yield decoded(decoder, piece, bytesRead > 0);
    }
  } finally {
    await file.close();
  }
}

/** A character may be cut in two by the end of a piece, but not by the end of the file. */
function decoded(decoder: TextDecoder, piece: Uint8Array, hasMore: boolean): string {
  try {
    return decoder.decode(piece, { stream: hasMore });
  } catch {
    throw new Error('the file is not UTF-8');
  }
}

/** Throws when the new version should not take the place of the current one. */
export function acceptList(
  next: CompiledList,
  current: CompiledList | undefined,
  isInsisted: boolean,
): CompiledList {
  const { complaints, lines } = next;
  const unreadableMax = lines * (current === undefined ? unreadableShareEver : unreadableShareMax);
  if (complaints.unreadable > unreadableMax) {
    const [example = ''] = complaints.examples;
    throw new Error(`${complaints.unreadable} of ${lines} lines cannot be read: ${example}`);
  }
  if (current === undefined || isInsisted) return next;
  const [before, after] = [entryCount(current), entryCount(next)];
  if (before < longListEntries) return next;
  if (after < before * shrunkShare) {
    throw new HeldBack(
      `the list shrank from ${before} to ${after} entries; it is taken if it stays so for a minute`,
    );
  }
  if (after < before && current.endsWithLineBreak && !next.endsWithLineBreak) {
    throw new HeldBack('the list ends within a line; it is taken if it stays so for a minute');
  }
  return next;
}
