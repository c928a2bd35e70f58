/**
 * Remembers what was computed for the keys of late, never for more than `entriesMax` of them (two at least).
 * Keys live in two generations: a full young one becomes the old one, and what is asked for again moves up. That
 * forgets in bulk what nobody asks for any more, at the cost of one extra map lookup for a hit in the old one.
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
