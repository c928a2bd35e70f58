/**
 * Finds the known name someone probably meant. Case, dashes and underscores do not count as differences, so
 * `base_url` finds `baseUrl`. Invariant: a suggestion is close enough to be believable, or there is none.
 */
export function closestName(word: string, names: readonly string[]): string | undefined {
  const wanted = plain(word);
  // Longer input cannot be a typo of a short name, and measuring it would cost quadratic time.
  if (wanted.length === 0 || wanted.length > nameLengthMax) return undefined;
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const distance = editDistance(wanted, plain(name));
    const believable = Math.max(1, Math.floor(Math.max(wanted.length, name.length) / 3));
    if (distance <= believable && distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

const nameLengthMax = 64;

function plain(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '');
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        previous[column]! + 1,
        current[column - 1]! + 1,
        previous[column - 1]! + (same ? 0 : 1),
      );
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped && row > 1 && column > 1) cost = Math.min(cost, beforePrevious[column - 2]! + 1);
      current.push(cost);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[to.length]!;
}
