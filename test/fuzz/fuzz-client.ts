/**
 * Sends requests one after the other on a connection that it keeps, so that an answer which leaves the
 * connection in disorder spoils the next request and is found out.
 */
import { RawConnection } from '../kit/raw-http.ts';

export interface FuzzRequest {
  readonly method: string;
  /** As it stands in the request line, one byte per character. */
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array | undefined;
}

export interface FuzzAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** A new connection now and then keeps what has to be looked through for an answer short. */
const answersPerConnection = 20;
const answerMaxMs = 20_000;

export class FuzzClient {
  readonly #url: string;
  #connection: RawConnection | undefined;
  #answered = 0;

  constructor(url: string) {
    this.#url = url;
  }

  async send(request: FuzzRequest): Promise<FuzzAnswer> {
    const connection = await this.#usable();
    connection.write(
      Buffer.concat([Buffer.from(headOf(request), 'latin1'), request.body ?? new Uint8Array()]),
    );
    const answers = await Promise.race([connection.answers(this.#answered + 1), late()]);
    const answer = answers[this.#answered];
    if (answer === undefined) throw new Error('the connection was closed without an answer');
    if (answers.length > this.#answered + 1) throw new Error('one request was answered twice');
    this.#answered += 1;
    // What a client still has to send after its request was refused ends the connection; that is fine.
    const closes = answer.status === 413 || /\bclose\b/i.test(answer.headers.connection ?? '');
    if (closes || this.#answered >= answersPerConnection) this.close();
    return {
      status: answer.status,
      headers: answer.headers,
      mediaType: (answer.headers['content-type'] ?? '').split(';')[0]!.trim(),
      bytes: Buffer.from(answer.body, 'latin1'),
    };
  }

  close(): void {
    this.#connection?.abandon();
    this.#connection = undefined;
  }

  async #usable(): Promise<RawConnection> {
    if (this.#connection?.closed) throw new Error('the server closed the connection without saying so');
    if (this.#connection === undefined) {
      this.#connection = await RawConnection.open(this.#url);
      this.#answered = 0;
    }
    return this.#connection;
  }
}

function headOf({ method, target, headers, body }: FuzzRequest): string {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: localhost'];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push(`Content-Length: ${body.length}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

async function late(): Promise<never> {
  await Bun.sleep(answerMaxMs);
  throw new Error('no answer came');
}
