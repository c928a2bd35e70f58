/**
 * The settings of limits: their rows in the table, and how they are read. Their values stay text, as they were
 * written, so that they can be shown; `startLimits` makes rates of them.
 */
import { NotARate, off, parseRate, ratesWith, visitRates } from '../accounts/rate-text.ts';
import { list, text } from './setting-row.ts';
import { listOf, oneLine, type Reader, Refused } from './setting-values.ts';

/** What `limits` says when nothing is changed. */
export const unchanged = 'default';

const rate: Reader<string> = text => checked(text, () => parseRate(text));

/** `default` and `off` stand alone. */
const planLimits: Reader<readonly string[]> = text => {
  if (text === unchanged || text === off) return [text];
  const changes = items(text);
  return checked(changes, () => ratesWith(changes));
};

const visitLimits: Reader<readonly string[]> = text => {
  if (text === off) return [text];
  const rates = items(text);
  return checked(rates, () => visitRates(rates));
};

function items(text: string): readonly string[] {
  if (text === 'none') throw new Refused();
  return listOf(item => item)(text);
}

function checked<Value>(value: Value, check: () => unknown): Value {
  try {
    check();
    return value;
  } catch (error) {
    throw error instanceof NotARate ? new Refused(oneLine(error.message)) : error;
  }
}

export const limitSettings = {
  limits: list({
    env: 'TERSE_LIMITS',
    read: planLimits,
    default: 'default',
    values: '`default`, `off`, or a comma list of changes such as `free=200/h,anonymous=off`',
    doc: 'How much each plan allows; the table is in docs/limits.md.',
  }),
  redirectLimit: list({
    env: 'TERSE_REDIRECT_LIMIT',
    read: visitLimits,
    default: 'off',
    values:
      '`off`, a rate such as `600/min`, or a comma list that has rates by plan such as `anonymous=60/min`',
    doc: 'How many links an address may follow: any, or those of accounts on a plan.',
  }),
  probeLimit: text({
    env: 'TERSE_PROBE_LIMIT',
    read: rate,
    default: '60/min',
    values: '`off`, or a rate such as `60/min`',
    doc: 'How many codes that do not exist an address may ask for before it is slowed down.',
  }),
} as const;
