/** Runs as a process of its own, as Terse does. */
const headers = { Location: 'https://www.example.com/articles/a-title-in-words' };
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: () => new Response(null, { status: 302, headers }),
});
process.stdout.write(`${server.port}\n`);
