/**
 * Truncates text from visitors. The result is copied, because a slice of a string keeps the whole string alive: ten
 * thousand slices of 64 KB headers held 750 MB instead of 5. Half a surrogate pair becomes U+FFFD, so the result can be
 * stored as UTF-8 and read back unchanged.
 */
export function boundedText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text.isWellFormed() ? text : text.toWellFormed();
  return Buffer.from(text.slice(0, lengthMax)).toString();
}

/**
 * Caches computed values for recent keys, never more than `entriesMax` of them (two at least). Keys live in two
 * generations: a full young one becomes the old one, and a hit in the old one moves its key to the young one. That
 * evicts unused keys in bulk, at the cost of one extra map lookup for a hit in the old one.
 */
export function memoise<Value extends object>(
  compute: (key: string) => Value,
  entriesMax: number,
): (key: string) => Value {
  const generationMax = Math.max(1, Math.floor(entriesMax / 2));
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();

  return key => {
    const known = young.get(key);
    if (known !== undefined) return known;
    const value = old.get(key) ?? compute(key);
    if (young.size >= generationMax) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
    return value;
  };
}
