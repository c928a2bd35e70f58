/**
 * The operator's say over the risk table: other weights, and domains that are trusted. A JSON object
 * `{"weights": {"velocity": 0}, "trusted": ["example.com"]}`; what it leaves out keeps its default. A name that is no
 * signal is refused, because a weight that is never used looks like one that is.
 *
 * Pure: reading the file is the business of whoever knows where it is.
 */
import { closestName } from '../base/did-you-mean.ts';
import { partsOf } from './hosts.ts';
import { defaultRiskPolicy, type RiskPolicy, scoreMax } from './risk.ts';
import { type SignalName, signalNames } from './risk-signals.ts';

const trustedMax = 10_000;

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
