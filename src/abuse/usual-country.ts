/**
 * Where each account usually makes its links from. A country is usual when an account has made at least five links
 * from it and most of its links: before that, being elsewhere says nothing. Strangers without an account have no usual
 * country. Bounded memory, forgotten at the end of the process: it is a hint worth ten points, not a record of
 * anybody's travels.
 */
interface Seen {
  usual: string;
  /** How far the usual country is ahead of all others together. */
  lead: number;
}

const leadMin = 5;
const leadMax = 100;

export class UsualCountries {
  readonly #accountsMax: number;
  readonly #seen = new Map<string, Seen>();

  constructor(accountsMax = 50_000) {
    this.#accountsMax = accountsMax;
  }

  get size(): number {
    return this.#seen.size;
  }

  /** The usual country before this link, if there is one; then the link counts too. */
  note(accountId: string, country: string): string | undefined {
    const seen = this.#seen.get(accountId) ?? { usual: country, lead: 0 };
    const usual = seen.lead >= leadMin ? seen.usual : undefined;
    if (seen.usual === country) seen.lead = Math.min(leadMax, seen.lead + 1);
    else if (seen.lead > 0) seen.lead -= 1;
    else [seen.usual, seen.lead] = [country, 1];
    this.#seen.delete(accountId);
    this.#seen.set(accountId, seen);
    if (this.#seen.size > this.#accountsMax) this.#seen.delete(this.#seen.keys().next().value!);
    return usual;
  }
}
