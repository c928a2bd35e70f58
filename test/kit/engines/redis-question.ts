/** Sends one command to a Redis and returns the answer as text, without a client library. */
const answerMaxMsDefault = 10_000;

/** Redis accepts commands as plain lines; `QUIT` closes the connection. */
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
    // Without the answers to the login and to QUIT.
    const text = (await answered.promise).replace(/\+OK\r\n$/, '');
    return login === '' ? text : text.replace(/^\+OK\r\n/, '');
  } finally {
    clearTimeout(timer);
    socket.terminate();
  }
}
