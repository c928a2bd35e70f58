/**
 * Asks all lists about one URL, from the narrowest thing that could be said about it (the URL with its query) to the
 * widest (its top-level domain). The first entry that speaks decides, and of two that say the same thing the exception
 * does: so a whole site can be blocked but for one folder, and a site can be excepted without freeing the one page of
 * it that a feed names.
 *
 * A question costs a few hashes of about a tenth of a microsecond per list. It reads only immutable data: a list that
 * changes is replaced as a whole.
 */
import {
  type BlockTarget,
  coversWithStars,
  folderDepthMax,
  type HashedKind,
  hostIn,
  kindTags,
  targetOf,
} from './block-entry.ts';
import type { CompiledEntries, CompiledList } from './compiled-list.ts';
import { HashSet } from './hash-set.ts';

export interface BlockMatch {
  /** The name of the list. */
  readonly list: string;
  /** The entry, in words: a domain, a page, a pattern. */
  readonly entry: string;
}

/** Undefined when no list has anything against the URL. Takes a serialised URL. */
export type MatchUrl = (url: string) => BlockMatch | undefined;

export interface NamedList {
  readonly name: string;
  readonly compiled: CompiledList;
}

interface Entries {
  readonly hashes: HashSet;
  readonly patterns: readonly string[];
}

interface AskedList {
  readonly name: string;
  readonly blocks: Entries;
  readonly exceptions: Entries;
}

type Answer = BlockMatch | 'excepted' | undefined;

const asterisk = '*';

export function createBlocklist(lists: readonly NamedList[], key: Uint8Array): MatchUrl {
  const asked: AskedList[] = lists.map(({ name, compiled }) => ({
    name,
    blocks: entriesOf(compiled.blocks, key),
    exceptions: entriesOf(compiled.exceptions, key),
  }));
  const hasPages = lists.some(({ compiled }) => compiled.blocks.hasPages || compiled.exceptions.hasPages);
  const hasPatterns = asked.some(list => list.blocks.patterns.length + list.exceptions.patterns.length > 0);
  if (asked.length === 0) return () => undefined;

  const ask = (kind: HashedKind, text: string, from = 0): Answer => {
    const tag = kindTags[kind];
    for (const { exceptions } of asked) if (exceptions.hashes.has(tag, text, from)) return 'excepted';
    for (const { name, blocks } of asked) {
      if (blocks.hashes.has(tag, text, from)) return { list: name, entry: inWords(kind, text.slice(from)) };
    }
    return undefined;
  };

  return url => {
    const target = hasPages || hasPatterns ? targetOf(url) : undefined;
    const host = target?.host ?? hostIn(url);
    if (host === undefined) return undefined;
    const answer =
      (target && hasPages ? askPages(target, ask) : undefined) ??
      (target && hasPatterns ? askPatterns(target, asked) : undefined) ??
      askHosts(host, ask);
    return answer === 'excepted' ? undefined : answer;
  };
}

function askPages({ page, full }: BlockTarget, ask: (kind: HashedKind, text: string) => Answer): Answer {
  let answer = (full === page ? undefined : ask('url', full)) ?? ask('page', page);
  const slashes: number[] = [];
  for (
    let at = page.indexOf('/');
    at !== -1 && slashes.length < folderDepthMax;
    at = page.indexOf('/', at + 1)
  ) {
    slashes.push(at);
  }
  while (answer === undefined && slashes.length > 0)
    answer = ask('folder', page.slice(0, slashes.pop()! + 1));
  return answer;
}

function askPatterns({ host, full }: BlockTarget, lists: readonly AskedList[]): Answer {
  const covers = (pattern: string): boolean => coversWithStars(pattern, pattern.includes('/') ? full : host);
  if (lists.some(({ exceptions }) => exceptions.patterns.some(covers))) return 'excepted';
  for (const { name, blocks } of lists) {
    const pattern = blocks.patterns.find(covers);
    if (pattern !== undefined) return { list: name, entry: pattern };
  }
  return undefined;
}

function askHosts(host: string, ask: (kind: HashedKind, text: string, from: number) => Answer): Answer {
  let answer = ask('domain', host, 0);
  for (
    let dotAt = host.indexOf('.');
    answer === undefined && dotAt !== -1;
    dotAt = host.indexOf('.', dotAt + 1)
  ) {
    answer = ask('subdomains', host, dotAt + 1) ?? ask('domain', host, dotAt + 1);
  }
  return answer;
}

function entriesOf({ hashes, patterns }: CompiledEntries, key: Uint8Array): Entries {
  return { hashes: new HashSet(key, hashes), patterns };
}

function inWords(kind: HashedKind, text: string): string {
  if (kind === 'subdomains') return `${asterisk}.${text}`;
  return kind === 'folder' ? text + asterisk : text;
}
