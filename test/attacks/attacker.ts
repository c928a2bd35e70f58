/**
 * An attack with COUNT connections from one address, as a separate process. A connection that the server ends is opened
 * again. `bun attacker.ts KIND COUNT ADDRESS URL SECONDS` prints "ready" when each has been opened once, and ends by
 * itself.
 */
import { connect, type Socket } from 'node:net';

const [kind = '', countText = '', localAddress = '', url = '', secondsText = ''] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const host = 'Host: localhost\r\n';
const post = `POST /api/v1/links HTTP/1.1\r\n${host}Content-Type: application/json\r\nContent-Length: 60\r\n\r\n`;

interface Attack {
  /** Sent when the connection is open. */
  readonly first: string;
  /** Sent again and again. */
  readonly next?: string;
  readonly everyMs?: number;
  readonly reads?: boolean;
}

export const attacks: Readonly<Record<string, Attack>> = {
  'empty lines': { first: '\r\n', next: '\r\n', everyMs: 1_000 },
  'a request every 0.8 s': {
    first: `GET /target HTTP/1.1\r\n${host}\r\n`,
    next: `GET /target HTTP/1.1\r\n${host}\r\n`,
    everyMs: 800,
  },
  'half heads': { first: `GET /target HTTP/1.1\r\n${host}X-A: `, next: 'a', everyMs: 1_000 },
  'slow bodies': { first: `${post}{`, next: ' ', everyMs: 1_000 },
  'slow reads': { first: `GET /api/v1/openapi.json HTTP/1.1\r\n${host}\r\n`.repeat(10), reads: false },
  'public statistics': {
    first: `GET /api/v1/links/shown/stats?interval=hour HTTP/1.1\r\n${host}\r\n`,
    next: `GET /api/v1/links/shown/stats?interval=hour HTTP/1.1\r\n${host}\r\n`,
    everyMs: 50,
  },
};

/** Opened in groups, so that the server's backlog of connections does not overflow. */
const openingMax = 200;
const reopenMs = 250;

if (import.meta.main) {
  const attack = attacks[kind];
  if (attack === undefined) throw new Error(`there is no attack by ${kind}`);
  let opening = 0;
  const waiting: (() => void)[] = [];
  const count = Number(countText);
  let opened = 0;

  const open = async (): Promise<void> => {
    if (opening >= openingMax) await new Promise<void>(resolve => waiting.push(resolve));
    opening += 1;
    const socket: Socket = connect({ host: hostname, port: Number(port), localAddress });
    let isOpening = true;
    const hasOpened = (): void => {
      if (!isOpening) return;
      isOpening = false;
      opening -= 1;
      waiting.shift()?.();
      opened += 1;
      if (opened === count) process.stdout.write('ready\n');
    };
    let timer: ReturnType<typeof setInterval> | undefined;
    socket.on('connect', () => {
      hasOpened();
      socket.write(attack.first);
      if (attack.reads === false) socket.pause();
      else socket.resume();
      if (attack.next !== undefined) timer = setInterval(() => socket.write(attack.next!), attack.everyMs);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      hasOpened();
      setTimeout(open, reopenMs);
    });
  };

  setTimeout(() => process.exit(0), Number(secondsText) * 1_000);
  for (let index = 0; index < count; index += 1) void open();
}
