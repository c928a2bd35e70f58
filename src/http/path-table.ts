/**
 * Maps paths to handlers. Paths are compared as they were sent, without normalization, so each can be written in one
 * way only and dots in it have no special meaning. A path of one segment that is not in this table is a short code.
 */

interface PathMatch<Handler> {
  readonly handler: Handler;
  readonly params: Readonly<Record<string, string>>;
}

interface Pattern<Handler> {
  readonly segments: readonly string[];
  readonly handler: Handler;
}

const noParams = {};

export class PathTable<Handler> {
  readonly #exact = new Map<string, PathMatch<Handler>>();
  readonly #byLength = new Map<number, Pattern<Handler>[]>();
  readonly #prefixes: { readonly prefix: string; readonly match: PathMatch<Handler> }[] = [];

  /** A path may have parameters in braces, or end in a star that matches any rest. */
  add(path: string, handler: Handler): void {
    if (path.endsWith('/*')) {
      this.#prefixes.push({ prefix: path.slice(0, -1), match: { handler, params: noParams } });
    } else if (path.includes('{')) {
      const segments = path.split('/');
      const others = this.#byLength.get(segments.length) ?? [];
      this.#byLength.set(segments.length, [...others, { segments, handler }]);
    } else this.#exact.set(path, { handler, params: noParams });
  }

  /** The paths of one segment. */
  get names(): string[] {
    return [...this.#exact.keys()]
      .map(path => path.slice(1))
      .filter(name => name !== '' && !name.includes('/'));
  }

  find(path: string): PathMatch<Handler> | undefined {
    const exact = this.#exact.get(path);
    // A path of one segment is an exact one or a short code.
    if (exact !== undefined || path.indexOf('/', 1) === -1) return exact;
    const segments = path.split('/');
    for (const { segments: wanted, handler } of this.#byLength.get(segments.length) ?? []) {
      const params = paramsOf(wanted, segments);
      if (params !== undefined) return { handler, params };
    }
    return this.#prefixes.find(({ prefix }) => path.startsWith(prefix))?.match;
  }
}

function paramsOf(
  wanted: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  for (const [index, each] of wanted.entries()) {
    const segment = segments[index]!;
    if (!each.startsWith('{')) {
      if (each !== segment) return undefined;
      continue;
    }
    if (segment === '') return undefined;
    params[each.slice(1, -1)] = decoded(segment);
  }
  return params;
}

/** A value that cannot be decoded stays as it is, and the handler rejects it. */
function decoded(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
