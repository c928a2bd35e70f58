/**
 * A blocklist made ready for questions: hashes for what is exact, texts for what has stars. It is plain data, so it can
 * be made on one thread and used on another. A line that cannot be used is left out and complained about; a text that
 * is mostly such lines is no list (an error page, a cut download) and is refused as a whole.
 */
import { type BlockEntry, kindTags } from './block-entry.ts';
import { isPlainDomain, readBlockLine } from './block-file.ts';
import { HashSet, type HashSetData } from './hash-set.ts';

export interface CompiledList {
  readonly blocks: CompiledEntries;
  readonly exceptions: CompiledEntries;
  readonly complaints: Complaints;
  /** Lines that say something. */
  readonly lines: number;
  /** A feed that usually ends with a line break and does not today was cut off. */
  readonly endsWithLineBreak: boolean;
}

export interface CompiledEntries {
  readonly hashes: HashSetData;
  readonly patterns: readonly string[];
  /** Whether any entry names more than a host, so that paths have to be looked at. */
  readonly hasPages: boolean;
}

export interface Complaints {
  readonly unreadable: number;
  readonly refused: number;
  /** The first few, in words. */
  readonly examples: readonly string[];
}

const examplesMax = 20;
/** Every pattern is tried on every URL, so their number is what a check costs. */
export const patternsMax = 1_000;
const shownLength = 60;

/** What becomes `CompiledEntries`. */
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

  /** False when there is no room for it. */
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
 * Takes the text of a list in pieces of any size, so that a long list is never in memory as a whole. Both sides of a
 * list must be asked with the key it was made with.
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
