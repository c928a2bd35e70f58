/**
 * A filter of clicks as the text of a query parameter. The API reads it, and so does the dashboard, whose address bar has
 * the same form; it bundles this file, so that it imports nothing.
 */

/**
 * Values separated by commas, with `!` in front of the list to exclude them. A backslash takes the next character as it
 * is. Percent-encoding cannot tell the two kinds of commas apart: most clients encode all of them.
 */
export function filterIn(list: string): { readonly values: string[]; readonly isExcluded: boolean } {
  const isExcluded = list.startsWith('!');
  const values = [''];
  for (const part of list.slice(isExcluded ? 1 : 0).match(/\\?./gsu) ?? []) {
    if (part === ',') values.push('');
    else values[values.length - 1] += part.length > 1 && part.startsWith('\\') ? part.slice(1) : part;
  }
  return { values: [...new Set(values)], isExcluded };
}
