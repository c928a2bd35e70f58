/**
 * What visitors send is kept no longer than we choose. The cut part is copied, because a slice of a string keeps
 * the whole string alive: ten thousand remembered cuts of 64 KB headers held 750 MB instead of 5. Half a
 * surrogate pair becomes U+FFFD, so what is kept can be stored as UTF-8 and read back unchanged.
 */
export function boundedText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text.isWellFormed() ? text : text.toWellFormed();
  return Buffer.from(text.slice(0, lengthMax)).toString();
}
