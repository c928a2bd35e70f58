/**
 * Markup that escapes by default. `html` is the only way to make an `Html`, and everything put into it that
 * is not already `Html` becomes text, so a hostile title or URL can be shown but never run.
 *
 * Two things escaping cannot decide stay with the template's author: attribute values are always quoted, and
 * a link to a foreign address is only made after its scheme was checked.
 */
const construction = Symbol('html construction');

export class Html {
  readonly #markup: string;

  /** The key is private to this file: nothing read from JSON or a database can pass as markup. */
  constructor(key: typeof construction, markup: string) {
    if (key !== construction) throw new TypeError('Html is only made by the html template');
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/** False, null and undefined render as nothing, so that `condition && html...` works. */
type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

export function html(literals: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let markup = literals[0] ?? '';
  for (const [index, value] of values.entries()) markup += render(value) + (literals[index + 1] ?? '');
  return new Html(construction, markup);
}

export function escapeText(text: string): string {
  return text.replace(unsafeCharacters, character => replacements[character] ?? '\uFFFD');
}

function render(value: HtmlValue): string {
  if (value === false || value === null || value === undefined) return '';
  if (value instanceof Html) return value.toString();
  if (Array.isArray(value)) return value.map(render).join('');
  return escapeText(String(value));
}

const replacements: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Control characters are not allowed in a document at all; they are shown as the replacement character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the very characters to take out.
const unsafeCharacters = /[&<>"'\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g;
