/**
 * Who follows links over one connection, as its headers describe them. The redirect keeps one of these for as long
 * as the headers stay the same, so that a click of a visitor who was described before costs two numbers.
 */
export class NotedVisitor {
  readonly address: string;
  readonly agent: string;
  readonly referrer: string;
  /** Bits of `visitFlag` that follow from the headers. */
  readonly flags: number;
  /** The numbers below are the recorder's, and mean something only in this count of its numbering. */
  numbering = 0;
  number = 0;
  referrerNumber = 0;

  constructor(address: string, agent: string, referrer: string, flags: number) {
    this.address = address;
    this.agent = agent;
    this.referrer = referrer;
    this.flags = flags;
  }
}
