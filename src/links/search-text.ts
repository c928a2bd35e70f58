/** A search does not mind the case of ASCII letters. Engines fold others in ways of their own, so nobody folds them. */
export function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, letters => letters.toLowerCase());
}
