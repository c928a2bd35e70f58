/** One command to a Redis and all it answers, as text: enough to look after one, and no client to trust first. */
const answerMaxMsDefault = 10_000;

/** Redis takes commands as plain lines as well, and closes the connection after the last one. */
export async function askRedis(
  url: string,
  command: string,
  answerMaxMs = answerMaxMsDefault,
): Promise<string> {
  const { hostname, port, username, password } = new URL(url);
  const login = password === '' ? '' : `AUTH ${username || 'default'} ${password}\r\n`;
  const answered = Promise.withResolvers<string>();
  let answer = '';
  const socket = await Bun.connect({
    hostname,
    port: Number(port || 6379),
    socket: {
      open(opened) {
        opened.write(`${login}${command}\r\nQUIT\r\n`);
      },
      data(_socket, chunk) {
        answer += chunk.toString();
      },
      close: () => answered.resolve(answer),
      error: (_socket, error) => answered.reject(error),
    },
  });
  const timer = setTimeout(() => answered.reject(new Error(`${url} does not answer`)), answerMaxMs);
  try {
    // The login was answered first, the quit last.
    const text = (await answered.promise).replace(/\+OK\r\n$/, '');
    return login === '' ? text : text.replace(/^\+OK\r\n/, '');
  } finally {
    clearTimeout(timer);
    socket.terminate();
  }
}
