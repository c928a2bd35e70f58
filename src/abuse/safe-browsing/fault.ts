/** Why an exchange with a Safe Browsing server came to nothing. Nothing else is thrown by what reads its answers. */
export type FaultKind =
  /** The server answered with a status other than 200. */
  | 'status'
  /** No answer came: the connection failed or broke. */
  | 'unreachable'
  | 'timeout'
  /** The answer is not what was asked for: another type, cut short, or senseless. */
  | 'content_type'
  | 'too_large'
  | 'malformed'
  /** The lists that an update led to are not those the server meant. */
  | 'mismatch';

export class SafeBrowsingFault extends Error {
  override readonly name = 'SafeBrowsingFault';
  readonly kind: FaultKind;

  constructor(kind: FaultKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

export const malformed = (message: string): SafeBrowsingFault => new SafeBrowsingFault('malformed', message);
