/** Runs as a separate process, as Terse does. With `listen` as its argument it is sockets only, perhaps with TLS. */
const location = 'https://www.example.com/articles/a-title-in-words';
const hostname = '127.0.0.1';
const [kind, cert, key] = process.argv.slice(2);
const text = `HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;

const server =
  kind === 'listen'
    ? Bun.listen({
        port: 0,
        hostname,
        ...(cert !== undefined && { tls: { cert: Bun.file(cert), key: Bun.file(key!) } }),
        socket: { data: socket => void socket.end(text) },
      })
    : Bun.serve({
        port: 0,
        hostname,
        fetch: () => new Response(null, { status: 302, headers: { Location: location } }),
      });
process.stdout.write(`${server.port}\n`);
