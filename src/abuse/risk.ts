/**
 * The score of a URL: the weights of the signals that fired, added up and capped at 100, with every reason kept. Pure,
 * so that the same URL in the same circumstances always gets the same answer.
 */
import { riskSignals, type SignalName, signalNames } from './risk-signals.ts';
import { type Circumstances, subjectOf } from './risk-subject.ts';

export interface RiskPolicy {
  readonly weights: Readonly<Record<SignalName, number>>;
  /** Registered domains whose URLs are not looked at; who makes a link, and how fast, still counts. */
  readonly trusted: ReadonlySet<string>;
}

export interface RiskReason {
  /** The signal's name in `risk-signals.ts`. */
  readonly signal: string;
  /** What it added to the score. */
  readonly weight: number;
  /** What was seen, in words for a moderator. */
  readonly detail: string;
}

export interface Risk {
  readonly score: number;
  readonly reasons: readonly RiskReason[];
}

export const scoreMax = 100;

export const defaultRiskPolicy: RiskPolicy = {
  weights: Object.fromEntries(
    signalNames.map(name => [name, riskSignals[name].weight]),
  ) as RiskPolicy['weights'],
  trusted: new Set(),
};

const aboutTheMaker: ReadonlySet<SignalName> = new Set(['velocity', 'countryMismatch']);

/** Takes a serialised URL. */
export function riskOf(
  url: string,
  circumstances: Circumstances = {},
  { weights, trusted }: RiskPolicy = defaultRiskPolicy,
): Risk {
  const subject = subjectOf(url, circumstances);
  const isTrusted = trusted.has(subject.parts.domain);
  const reasons: RiskReason[] = [];
  for (const signal of signalNames) {
    const weight = weights[signal];
    if (weight === 0 || (isTrusted && !aboutTheMaker.has(signal))) continue;
    const detail = riskSignals[signal].find(subject);
    if (detail !== undefined) reasons.push({ signal, weight, detail });
  }
  const sum = reasons.reduce((total, { weight }) => total + weight, 0);
  return { score: Math.min(scoreMax, sum), reasons };
}
