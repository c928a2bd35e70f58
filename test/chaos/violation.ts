/** The rules that a checker enforces. */
export type Rule =
  /** An acknowledged link does not exist. */
  | 'lost-link'
  /** One code for two acknowledged links. */
  | 'code-twice'
  /** Not exactly one of the claims of an alias succeeded, or a repeat found a link that was not created. */
  | 'alias-owners'
  /** A redirect to an old destination, later than the bound. */
  | 'stale-redirect'
  /** A redirect to a destination that the link never had. */
  | 'foreign-destination'
  /** A working link or key is rejected. */
  | 'wrong-refusal'
  /** A redirect after the link expired. */
  | 'expired-redirect'
  /** More redirects than the link allows. */
  | 'click-limit'
  /** More clicks than redirects, clicks neither counted nor reported as lost, or more lost than kills can explain. */
  | 'clicks'
  /** A revoked key is accepted later than the bound. */
  | 'revoked-key'
  /** Operations fail longer than the bound after a fault has ended. */
  | 'no-progress'
  /** An answer that nothing explains. */
  | 'unexpected-answer';

/** Rules with a time bound, which an overloaded machine may exceed; a violation of any other is a bug. */
export const timedRules: ReadonlySet<Rule> = new Set([
  'stale-redirect',
  'expired-redirect',
  'revoked-key',
  'no-progress',
]);

export interface Violation {
  readonly rule: Rule;
  readonly atMs: number;
  readonly what: string;
}

/** Reports a violation, with the operation at which it shows. */
export type Objection = (rule: Rule, at: { startMs: number }, what: string) => void;
