/** A text as ClickHouse reads it in a query. Whatever comes from outside goes through here and nowhere else. */
export function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** For `IN`; nothing at all is in an empty list, which the language cannot write. */
export function quotedList(texts: readonly string[]): string {
  return texts.length === 0 ? '(NULL)' : `(${texts.map(quoted).join(', ')})`;
}
