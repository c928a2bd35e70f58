/**
 * What a supervisor and its workers say to one another. A worker serves a socket that its supervisor opened, says
 * when it is ready and that it is still there, and leaves when it is told to or when nobody supervises it any more.
 */

/** The environment variable that makes a process a worker. */
export const supervisedVariable = 'TERSE_SUPERVISED';

/** Where a worker finds its socket. */
export interface WorkerPlace {
  readonly fd: number;
  readonly port: number;
}

export type WorkerMessage = { readonly kind: 'ready' } | { readonly kind: 'beat' };

/** To leave while others go on serving: idle clients get the time to ask once more and to be told to reconnect. */
export interface SupervisorMessage {
  readonly kind: 'retire';
}

export const beatMs = 1_000;

const shape = /^(\d+):(\d+)$/;

export const placeText = ({ fd, port }: WorkerPlace): string => `${fd}:${port}`;

export function placeOf(text: string | undefined): WorkerPlace | undefined {
  const [, fd, port] = shape.exec(text ?? '') ?? [];
  return fd === undefined || port === undefined ? undefined : { fd: Number(fd), port: Number(port) };
}
