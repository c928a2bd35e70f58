/**
 * A Safe Browsing server on loopback that speaks the real protocol: lists with a history, so that a client gets the
 * difference to its version; full hashes behind prefixes; and every way to misbehave.
 */
import { createHash } from 'node:crypto';
import { foundHashes, hashLists, type ListAnswer, type Match } from './safe-browsing-messages.ts';

export interface AskedLists {
  readonly kind: 'lists';
  readonly names: readonly string[];
  /** Versions that the client says it has; none for a client that starts from scratch. */
  readonly versions: readonly string[];
}

export interface AskedHashes {
  readonly kind: 'hashes';
  readonly prefixes: readonly Uint8Array[];
}

/** How the server behaves; a test changes what it wants. */
export interface Behaviour {
  /** Any status but 200 is returned instead of an answer. */
  status: number;
  contentType: string;
  /** Waits for this before it answers, if there is one. */
  hold: Promise<unknown> | undefined;
  mangle: (body: Uint8Array) => Uint8Array;
  /** Seconds until lists may be asked for again; undefined leaves it out. */
  waitS: number | undefined;
  cacheS: number;
  /** How many of the next list updates have a wrong checksum. */
  falseChecksums: number;
  omittedList: string | undefined;
}

const threats: Readonly<Record<string, number>> = {
  'se-4b': 2,
  'mw-4b': 1,
  'uws-4b': 3,
  'uwsa-4b': 3,
  'pha-4b': 4,
};

export const sha256 = (text: string | Uint8Array): Buffer => createHash('sha256').update(text).digest();

export class SafeBrowsingServer {
  readonly #server: ReturnType<typeof Bun.serve>;
  readonly #histories = new Map<string, Buffer[][]>();
  readonly #matches: Match[] = [];
  readonly asked: (AskedLists | AskedHashes)[] = [];
  readonly keys = new Set<string | null>();
  /** Requested paths that are not methods of the protocol. */
  readonly strayPaths: string[] = [];
  behaviour: Behaviour = {
    status: 200,
    contentType: 'application/x-protobuf',
    hold: undefined,
    mangle: body => body,
    waitS: 300,
    cacheS: 600,
    falseChecksums: 0,
    omittedList: undefined,
  };

  constructor() {
    this.#server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: request => this.#answer(request) });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  get listRequests(): AskedLists[] {
    return this.asked.filter(asked => asked.kind === 'lists');
  }

  get hashRequests(): AskedHashes[] {
    return this.asked.filter(asked => asked.kind === 'hashes');
  }

  /** Puts expressions such as `evil.example/` on a list, and gives out their full hashes. */
  list(name: string, expressions: readonly string[], attributes: readonly number[] = []): void {
    const threat = threats[name] ?? 0;
    for (const expression of expressions)
      this.#matches.push({ hash: sha256(expression), threat, attributes });
    this.change(name, { add: expressions.map(expression => sha256(expression).subarray(0, 4)) });
  }

  /** Lists another page that happens to share the first four bytes of its hash with this expression. */
  listNeighbourOf(name: string, expression: string): void {
    const hash = Buffer.concat([sha256(expression).subarray(0, 4), sha256('another page').subarray(4)]);
    this.#matches.push({ hash, threat: threats[name] ?? 0, attributes: [] });
    this.change(name, { add: [hash.subarray(0, 4)] });
  }

  /** Takes expressions off a list; their full hashes are no longer given out. */
  unlist(name: string, expressions: readonly string[]): void {
    const gone = expressions.map(expression => sha256(expression));
    const kept = this.#matches.filter(({ hash }) => !gone.some(each => each.equals(hash)));
    this.#matches.splice(0, this.#matches.length, ...kept);
    this.change(name, { remove: gone.map(hash => hash.subarray(0, 4)) });
  }

  /** A new version of a list, prefix by prefix. */
  change(
    name: string,
    { add = [], remove = [] }: { add?: readonly Buffer[]; remove?: readonly Buffer[] },
  ): void {
    const history = this.#historyOf(name);
    const kept = history.at(-1)!.filter(prefix => ![...remove, ...add].some(each => each.equals(prefix)));
    const added = new Map(add.map(prefix => [prefix.toString('hex'), prefix]));
    history.push([...kept, ...added.values()].sort(Buffer.compare));
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    this.keys.add(request.headers.get('x-goog-api-key'));
    const answer = this.#bodyFor(pathname, searchParams);
    const { hold, status, contentType, mangle } = this.behaviour;
    await hold;
    if (answer === undefined) {
      this.strayPaths.push(pathname);
      return new Response('no such method', { status: 404 });
    }
    if (status !== 200) return new Response('not now', { status, headers: { Location: '/elsewhere' } });
    return new Response(mangle(answer), { headers: { 'Content-Type': contentType } });
  }

  #bodyFor(path: string, query: URLSearchParams): Uint8Array | undefined {
    const { waitS, cacheS } = this.behaviour;
    switch (path) {
      case '/v5/hashLists:batchGet': {
        const versions = query.getAll('version').map(text => Buffer.from(text, 'base64').toString());
        const held = new Map(versions.map(version => [version.split('@')[0]!, version]));
        const names = query.getAll('names');
        return hashLists(this.#updates(names.map(name => ({ name, version: held.get(name) ?? '' }))), waitS);
      }
      case '/v5/hashes:search':
        return foundHashes(
          this.#found(query.getAll('hashPrefixes').map(text => Buffer.from(text, 'base64'))),
          cacheS,
        );
      default:
        return undefined;
    }
  }

  #updates(asked: readonly { name: string; version: string }[]): ListAnswer[] {
    const versions = asked.map(({ version }) => version).filter(version => version !== '');
    this.asked.push({ kind: 'lists', names: asked.map(({ name }) => name), versions });
    return asked
      .filter(({ name }) => name !== this.behaviour.omittedList)
      .map(({ name, version }) => this.#updateOf(name, version));
  }

  #updateOf(name: string, version: string): ListAnswer {
    const history = this.#historyOf(name);
    const current = history.at(-1)!;
    const known = history[Number(version.split('@')[1] ?? Number.NaN)];
    const before = known ?? [];
    const isFalse = this.behaviour.falseChecksums > 0 && known !== current;
    if (isFalse) this.behaviour.falseChecksums -= 1;
    return {
      name,
      isPartial: known !== undefined,
      removals: before.flatMap((prefix, index) => (current.some(each => each.equals(prefix)) ? [] : [index])),
      additions: current.filter(prefix => !before.some(each => each.equals(prefix))),
      version: Buffer.from(`${name}@${history.length - 1}`),
      checksum: sha256(isFalse ? 'something else' : Buffer.concat(current)),
      isUnchanged: known === current,
    };
  }

  #found(prefixes: readonly Uint8Array[]): Match[] {
    this.asked.push({ kind: 'hashes', prefixes });
    return this.#matches.filter(({ hash }) =>
      prefixes.some(prefix => Buffer.from(prefix).equals(hash.subarray(0, prefix.length) as Buffer)),
    );
  }

  #historyOf(name: string): Buffer[][] {
    const history = this.#histories.get(name) ?? [[]];
    this.#histories.set(name, history);
    return history;
  }
}
