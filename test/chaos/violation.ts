/** What a checker can object to. */
export type Rule =
  /** A link that was acknowledged is not there. */
  | 'lost-link'
  /** One code for two acknowledged links. */
  | 'code-twice'
  /** Not exactly one of the claims of an alias succeeded, or a repeat found what was not made. */
  | 'alias-owners'
  /** A redirect to where a link had led before it was changed, later than the bound. */
  | 'stale-redirect'
  /** A redirect to where the link never led. */
  | 'foreign-destination'
  /** A link, or a key, that works is answered as if it did not. */
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

/** Rules with a bound in time, which a machine that is too busy can exceed; what breaks any other is a mistake. */
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
