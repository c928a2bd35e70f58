/**
 * The score of a URL: the weights of the signals that fired, added up and capped at 100, with every reason kept. Pure,
 * so that the same URL in the same circumstances always gets the same score.
 */

import { closestName } from '../base/did-you-mean.ts';
import { partsOf } from './hosts.ts';
import {
  askedSignals,
  type Circumstances,
  findingOf,
  riskSignals,
  type SignalName,
  signalNames,
  subjectOf,
} from './risk-signals.ts';

export interface RiskPolicy {
  readonly weights: Readonly<Record<SignalName, number>>;
  /** Registered domains whose URLs are not examined; who makes a link, and how fast, still counts. */
  readonly trusted: ReadonlySet<string>;
}

export interface RiskReason {
  /** The signal's name in `risk-signals.ts`. */
  readonly signal: string;
  /** What it added to the score. */
  readonly weight: number;
  /** What was found, as text for a moderator. */
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

const harmless: Risk = { score: 0, reasons: [] };
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
  for (const signal of askedSignals(subject)) {
    const weight = weights[signal];
    if (weight === 0 || (isTrusted && !aboutTheMaker.has(signal))) continue;
    const detail = findingOf(signal, subject);
    if (detail !== undefined) reasons.push({ signal, weight, detail });
  }
  if (reasons.length === 0) return harmless;
  const sum = reasons.reduce((total, { weight }) => total + weight, 0);
  return { score: Math.min(scoreMax, sum), reasons };
}

const trustedMax = 10_000;

/**
 * The operator's changes to the risk table: `{"weights": {"velocity": 0}, "trusted": ["example.com"]}`; whatever it omits
 * keeps its default. A name that is no signal is rejected, because a weight that is never used looks like one that is.
 */
export function readRiskFile(text: string): RiskPolicy {
  const file = objectOf(JSON.parse(text), 'the file');
  for (const name of Object.keys(file)) {
    if (name !== 'weights' && name !== 'trusted') throw new Error(`"${name}" is neither weights nor trusted`);
  }
  const weights = { ...defaultRiskPolicy.weights };
  for (const [name, weight] of Object.entries(objectOf(file.weights ?? {}, 'weights'))) {
    weights[signalNamed(name)] = weightOf(name, weight);
  }
  return { weights, trusted: trustedIn(file.trusted ?? []) };
}

function signalNamed(name: string): SignalName {
  const signal = signalNames.find(each => each === name);
  if (signal !== undefined) return signal;
  const close = closestName(name, signalNames);
  throw new Error(`"${name}" is no signal${close === undefined ? '' : `; did you mean ${close}?`}`);
}

function weightOf(name: string, weight: unknown): number {
  if (typeof weight === 'number' && Number.isInteger(weight) && weight >= 0 && weight <= scoreMax)
    return weight;
  throw new Error(`the weight of ${name} must be a whole number from 0 to ${scoreMax}`);
}

function trustedIn(list: unknown): ReadonlySet<string> {
  if (!Array.isArray(list) || list.length > trustedMax) {
    throw new Error(`trusted must be a list of at most ${trustedMax} domains`);
  }
  return new Set(list.map(domainOf));
}

function domainOf(text: unknown): string {
  const url = typeof text === 'string' && !/[\s/@]/.test(text) ? URL.parse(`http://${text}/`) : null;
  if (url === null || partsOf(url.hostname).domain !== url.hostname) {
    throw new Error(`${JSON.stringify(text)} is not a registered domain such as example.com`);
  }
  return url.hostname;
}

function objectOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new Error(`${what} must be a JSON object`);
}
