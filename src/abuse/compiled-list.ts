/**
 * A blocklist compiled for lookups: hashes for exact entries, texts for patterns with stars. It is plain data, so it
 * can be made on one thread and used on another. An unusable line is skipped with a complaint; a text that consists
 * mostly of such lines is no list (an error page, a truncated download) and is rejected as a whole.
 */

import { open, stat } from 'node:fs/promises';
import { type BlockEntry, isPlainDomain, kindTags, readBlockLine } from './block-entry.ts';
import { HashSet, type HashSetData } from './hash-set.ts';
import { HeldBack } from './watched-file.ts';

export interface CompiledList {
  readonly blocks: CompiledEntries;
  readonly exceptions: CompiledEntries;
  readonly complaints: Complaints;
  /** Lines that are not blank or comments. */
  readonly lines: number;
  /** A feed that usually ends with a line break and does not today was truncated. */
  readonly endsWithLineBreak: boolean;
}

export interface CompiledEntries {
  readonly hashes: HashSetData;
  readonly patterns: readonly string[];
  /** Whether any entry names more than a host, so that paths have to be checked. */
  readonly hasPages: boolean;
}

export interface Complaints {
  readonly unreadable: number;
  readonly refused: number;
  /** The first few, in full. */
  readonly examples: readonly string[];
}

const examplesMax = 20;
/** Every pattern is tried on every URL, so their number determines the cost of a check. */
export const patternsMax = 1_000;
const shownLength = 60;

/** Builds `CompiledEntries`. */
class EntryCollector {
  readonly #set: HashSet;
  readonly #patterns = new Set<string>();
  #hasPages = false;

  constructor(key: Uint8Array) {
    this.#set = new HashSet(key);
  }

  addDomain(name: string): void {
    this.#set.add(kindTags.domain, name);
  }

  /** False when it is full. */
  add({ kind, text }: BlockEntry): boolean {
    if (kind === 'pattern') {
      if (this.#patterns.size === patternsMax) return false;
      this.#patterns.add(text);
    } else {
      this.#set.add(kindTags[kind], text);
      if (kind !== 'domain' && kind !== 'subdomains') this.#hasPages = true;
    }
    return true;
  }

  compiled(): CompiledEntries {
    return { hashes: this.#set.release(), patterns: [...this.#patterns], hasPages: this.#hasPages };
  }
}

/**
 * Takes the text of a list in chunks of any size, so that a long list is never in memory as a whole. Lookups must use
 * the key that the list was made with.
 */
export class ListCompiler {
  readonly #blocks: EntryCollector;
  readonly #exceptions: EntryCollector;
  readonly #examples: string[] = [];
  #unfinishedLine = '';
  #unreadable = 0;
  #refused = 0;
  #lines = 0;
  #lineNumber = 0;

  constructor(key: Uint8Array) {
    this.#blocks = new EntryCollector(key);
    this.#exceptions = new EntryCollector(key);
  }

  feed(piece: string): void {
    const text = this.#unfinishedLine + piece;
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      this.#takeLine(text.slice(from, end));
      from = end + 1;
    }
    this.#unfinishedLine = text.slice(from);
  }

  finish(): CompiledList {
    const endsWithLineBreak = this.#unfinishedLine === '';
    if (!endsWithLineBreak) this.#takeLine(this.#unfinishedLine);
    return {
      blocks: this.#blocks.compiled(),
      exceptions: this.#exceptions.compiled(),
      complaints: { unreadable: this.#unreadable, refused: this.#refused, examples: this.#examples },
      lines: this.#lines,
      endsWithLineBreak,
    };
  }

  #takeLine(line: string): void {
    this.#lineNumber += 1;
    if (isPlainDomain(line)) {
      this.#lines += 1;
      this.#blocks.addDomain(line);
      return;
    }
    const reading = readBlockLine(line);
    if ('complaint' in reading) {
      this.#lines += 1;
      if (reading.isUnreadable) this.#unreadable += 1;
      else this.#refused += 1;
      this.#complain(line, reading.complaint);
      return;
    }
    if (reading.entries.length > 0) this.#lines += 1;
    for (const entry of reading.entries) {
      if ((entry.isException ? this.#exceptions : this.#blocks).add(entry)) continue;
      this.#refused += 1;
      this.#complain(line, `is one pattern too many: a list has at most ${patternsMax}`);
    }
  }

  #complain(line: string, why: string): void {
    if (this.#examples.length === examplesMax) return;
    this.#examples.push(`line ${this.#lineNumber}: ${quoted(line)} ${why}`);
  }
}

export function compileList(text: string, key: Uint8Array): CompiledList {
  const compiler = new ListCompiler(key);
  compiler.feed(text);
  return compiler.finish();
}

export const entryCount = ({ blocks, exceptions }: CompiledList): number =>
  [blocks, exceptions].reduce((sum, { hashes, patterns }) => sum + hashes.size + patterns.length, 0);

export const listBytes = ({ blocks, exceptions }: CompiledList): number =>
  blocks.hashes.slots.byteLength + exceptions.hashes.slots.byteLength;

function quoted(line: string): string {
  const text = line.trim();
  return JSON.stringify(text.length > shownLength ? `${text.slice(0, shownLength)}…` : text);
}

/** Runs on a thread, so that reading a million lines delays no request. */
export type CompileFile = (path: string, key: Uint8Array) => Promise<CompiledList>;

const fileBytesMax = 512 * 1024 * 1024;
const pieceBytes = 256 * 1024;
/** Beyond this share of unreadable lines a new version is rejected, while there is an old one to keep. */
const unreadableShareMax = 0.1;
/** And beyond this share a text is no list at all. */
const unreadableShareEver = 0.5;
/** Only lists of this length can be recognised as truncated; a shorter one is written by hand. */
const longListEntries = 1_000;
const shrunkShare = 0.5;

/** Reads a list that may be large and come from elsewhere. */
export async function compileFile(path: string, key: Uint8Array): Promise<CompiledList> {
  const compiler = new ListCompiler(key);
  for await (const piece of textPieces(path)) compiler.feed(piece);
  return compiler.finish();
}

/** The whole file, if it is text of a plausible size. */
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

/** A character may be split by the end of a chunk, but not by the end of the file. */
function decoded(decoder: TextDecoder, piece: Uint8Array, hasMore: boolean): string {
  try {
    return decoder.decode(piece, { stream: hasMore });
  } catch {
    throw new Error('the file is not UTF-8');
  }
}

/**
 * Throws when the new version should not replace the current one: it may be the result of a failed download (nothing, an
 * error page, half of the lines).
 */
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
