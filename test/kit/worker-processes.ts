/** The worker processes of a Terse, and which of them serves which client. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { childrenOf } from '../../bench/kit/process-family.ts';
import { type RawAnswer, RawConnection } from './raw-http.ts';
import type { TerseProcess } from './terse-process.ts';

export const workersOf = ({ pid }: Pick<TerseProcess, 'pid'>): number[] => childrenOf(pid);

/** Whether a process is there and has not ended. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

const establishedState = '01';

/** How many clients of `url` a process has. */
export function clientsOf(pid: number, url: string): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const inodes = new Set<string>();
  for (const line of readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/);
    const [, local, , state] = fields;
    if (local?.endsWith(`:${port}`) && state === establishedState) inodes.add(`socket:[${fields[9]}]`);
  }
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter(fd => inodes.has(linkOf(`${folder}/${fd}`))).length;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** A scrape by name and labels as written. On a new connection, so any worker may answer. */
export async function scrape(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`, { headers: { Connection: 'close' } })).text();
  return new Map(
    text
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('#'))
      .map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

/** A connection that stays with the worker that accepted it. */
export class WorkerClient {
  readonly #connection: RawConnection;
  #asked = 0;

  private constructor(connection: RawConnection) {
    this.#connection = connection;
  }

  static async open(url: string): Promise<WorkerClient> {
    return new WorkerClient(await RawConnection.open(url));
  }

  async get(path: string): Promise<RawAnswer> {
    this.#connection.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    this.#asked += 1;
    const answer = (await this.#connection.answers(this.#asked))[this.#asked - 1];
    if (answer === undefined) throw new Error('the worker closed the connection');
    return answer;
  }

  abandon(): void {
    this.#connection.abandon();
  }
}

const triesMax = 500;

/** A client of every worker; the system decides where a connection goes, so they are opened until each has one. */
export async function clientOfEach(terse: TerseProcess): Promise<WorkerClient[]> {
  const found = new Map<number, WorkerClient>();
  const spare: WorkerClient[] = [];
  const workers = workersOf(terse);
  for (let tries = 0; found.size < workers.length; tries += 1) {
    if (tries === triesMax) throw new Error('some worker never gets a connection');
    const before = workers.map(pid => clientsOf(pid, terse.url));
    const client = await WorkerClient.open(terse.url);
    // It has been accepted when it is answered.
    await client.get('/health/live');
    const pid = workers.find((each, index) => clientsOf(each, terse.url) > before[index]!);
    if (pid === undefined || found.has(pid)) spare.push(client);
    else found.set(pid, client);
  }
  for (const client of spare) client.abandon();
  return [...found.values()];
}
