/**
 * The port for sources that know bad URLs and have to be asked: Safe Browsing, or whatever an operator plugs in.
 * Invariant: a checker never decides alone that a link cannot be made. Whoever asks gives it a time limit, and one
 * that fails or is slow counts as having nothing to say.
 */
export interface UrlChecker {
  /** Stands in metrics and in the reason of a refusal: lower case, with underscores. */
  readonly name: string;
  /** Takes a serialised http or https URL. */
  check(url: string): Promise<CheckResult>;
}

export interface CheckResult {
  readonly listed: boolean;
  /** What the source calls the danger, for example `malware`; shown to whoever wanted the link. */
  readonly threat?: string;
}
