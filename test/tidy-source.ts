/**
 * A TypeScript file as the tidy rules see it: its code without comments and texts, its comments without code,
 * its texts, and what it imports. All views have the length of the file, so a position in one is a position in all.
 *
 * It reads characters and not syntax. The compiler's own reader drops `import type`, which the rules must see,
 * and what a rule needs to know is simple: is this `Date.now` code, or part of a comment or a string?
 */
import { posix } from 'node:path';

export interface SourceFile {
  /** From the repository's root, as in `src/links/create.ts`. */
  readonly path: string;
  readonly text: string;
  /** Comments and the insides of strings, templates and regular expressions are blank. */
  readonly code: string;
  /** All but the comments is blank. */
  readonly comments: string;
  /** All but the insides of strings, templates and regular expressions is blank. */
  readonly texts: string;
  readonly imports: readonly Import[];
}

export interface Import {
  readonly specifier: string;
  /** The path from the root for a relative import, the specifier for all others. */
  readonly target: string;
  readonly position: number;
}

export function readSource(path: string, text: string): SourceFile {
  const { code, comments } = separate(text);
  const texts = text
    .split('')
    .map((character, at) => (isBlank(code, at) && isBlank(comments, at) ? character : ' '));
  return { path, text, code, comments, texts: texts.join(''), imports: findImports(path, text, code) };
}

const isBlank = (view: string, at: number): boolean => view[at] === ' ' || view[at] === '\n';

export function lineAt(file: SourceFile, position: number): number {
  return file.text.slice(0, position).split('\n').length;
}

/** Each ends just behind an opening quote. Worker files named by `new URL` are dependencies like any other. */
const importPatterns = [
  /\b(?:import|export)\b(?:[^'"`;()]*?\bfrom)?\s*['"]/g,
  /\b(?:import|require|import\.meta\.resolve)\s*\(\s*['"]/g,
  /\bnew\s+URL\s*\(\s*['"](?= *['"]\s*,\s*import\.meta\.url)/g,
];

function findImports(path: string, text: string, code: string): Import[] {
  const starts = importPatterns.flatMap(pattern =>
    [...code.matchAll(pattern)].map(match => match.index + match[0].length),
  );
  return starts
    .sort((left, right) => left - right)
    .map(start => {
      const specifier = text.slice(start, code.slice(start).search(/['"]/) + start);
      const isRelative = /^\.{1,2}(?:\/|$)/.test(specifier);
      const target = isRelative ? posix.join(posix.dirname(path), specifier) : specifier;
      return { specifier, target, position: start };
    });
}

/** Splits a text into two of the same length and with the same line breaks. */
function separate(text: string): { code: string; comments: string } {
  let code = '';
  let comments = '';
  let position = 0;
  /** For each template literal around us, how many braces its current `${` has open. */
  const templates: number[] = [];

  const blank = (part: string) => part.replace(/[^\n]/g, ' ');
  const takeCode = (end: number) => {
    code += text.slice(position, end);
    comments += blank(text.slice(position, end));
    position = end;
  };
  const takeComment = (end: number) => {
    code += blank(text.slice(position, end));
    comments += text.slice(position, end);
    position = end;
  };
  /** Keeps the delimiters and hides what is between them. */
  const takeText = (end: number) => {
    takeCode(position + 1);
    const inside = blank(text.slice(position, end - 1));
    code += inside;
    comments += inside;
    position = Math.max(position, end - 1);
    takeCode(end);
  };
  const takeTemplate = () => {
    const end = endOfTemplatePart(text, position);
    if (text.startsWith('${', end - 2)) templates.push(0);
    takeText(end);
  };

  while (position < text.length) {
    const character = text[position]!;
    const depth = templates.at(-1);
    if (text.startsWith('//', position)) takeComment(endOf(text, '\n', position) - 1);
    else if (text.startsWith('/*', position)) takeComment(endOf(text, '*/', position + 2));
    else if (character === "'" || character === '"') takeText(endOfString(text, position));
    else if (character === '`') takeTemplate();
    else if (character === '/' && startsRegExp(code)) takeText(endOfRegExp(text, position));
    else if (character === '}' && depth === 0) {
      templates.pop();
      takeTemplate();
    } else {
      if (depth !== undefined && character === '{') templates[templates.length - 1] = depth + 1;
      if (depth !== undefined && character === '}') templates[templates.length - 1] = depth - 1;
      takeCode(position + 1);
    }
  }
  return { code, comments };
}

/** Just behind the next `mark`; one beyond the end for a missing line break, so that comments may end there. */
function endOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  if (found !== -1) return found + mark.length;
  return mark === '\n' ? text.length + 1 : text.length;
}

/** A string ends on its line at the latest, so that an apostrophe in markup hides one line and no more. */
function endOfString(text: string, open: number): number {
  const quote = text[open];
  for (let at = open + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote || text[at] === '\n') return at + 1;
  }
  return text.length;
}

/** From a backtick or the brace that ends a `${…}` to just behind the next `${` or the closing backtick. */
function endOfTemplatePart(text: string, open: number): number {
  for (let at = open + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '`') return at + 1;
    else if (text.startsWith('${', at)) return at + 2;
  }
  return text.length;
}

/** After a value a slash divides; anywhere else it opens a regular expression. */
function startsRegExp(codeBefore: string): boolean {
  const before = codeBefore.slice(-40).trimEnd();
  return /(?:^|[^\w$)\]}'"`.<]|\b(?:return|typeof|case|in|of|yield|await))$/.test(before);
}

function endOfRegExp(text: string, open: number): number {
  let isInClass = false;
  for (let at = open + 1; at < text.length && text[at] !== '\n'; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '[') isInClass = true;
    else if (text[at] === ']') isInClass = false;
    else if (text[at] === '/' && !isInClass) return at + 1;
  }
  return open + 1;
}
