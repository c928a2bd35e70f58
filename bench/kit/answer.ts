/** As much of an HTTP/1.1 answer as it takes to know its status, its end and whether the connection goes on. */
export interface AnswerHead {
  /** NaN when what came is no answer. */
  readonly status: number;
  /** Bytes of the whole answer, head and body. */
  readonly length: number;
  readonly isLast: boolean;
  /** Whether it says when to come again. */
  readonly saysWhen: boolean;
}

const headEnd = Buffer.from('\r\n\r\n');

/** Undefined until the answer is complete. */
export function readAnswer(received: Buffer): AnswerHead | undefined {
  const headLength = received.indexOf(headEnd);
  if (headLength === -1) return undefined;
  const head = received.toString('latin1', 0, headLength);
  if (/\r\ntransfer-encoding:/i.test(head)) throw new Error('the load client cannot read a chunked answer');
  const bodyLength = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const length = headLength + headEnd.length + bodyLength;
  if (received.length < length) return undefined;
  return {
    status: head.startsWith('HTTP/1.1 ') ? Number(head.slice(9, 12)) : Number.NaN,
    length,
    isLast: /\r\nconnection: *close/i.test(head),
    saysWhen: /\r\nretry-after:/i.test(head),
  };
}
