/** For tests of purges: a server that records the requests an edge would get, and answers as the test says. */
export interface SeenPurge {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

export class FakeEdge {
  readonly seen: SeenPurge[] = [];
  answer: (purge: SeenPurge) => Response | Promise<Response> = () => new Response('');
  readonly #server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async request => {
      const { pathname, search } = new URL(request.url);
      const { method, headers } = request;
      const purge = { method, path: pathname + search, headers, body: await request.text() };
      this.seen.push(purge);
      return this.answer(purge);
    },
  });

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }
}
