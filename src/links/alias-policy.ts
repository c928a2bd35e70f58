/**
 * Which names a link may have. A custom alias goes through `judge`; generated codes go through `isAllowedCode`, because
 * random codes form words, too, and `account` or `domains` is exactly as long as a code.
 *
 * Reserved words are compared as a whole, in any case. Offensive terms are found inside an alias, with digits read as
 * the letters they stand in for. Two limits keep innocent aliases free:
 * - A term that is split by `-` or `_` counts only when it begins and ends where words do: `s-h-i-t` and `my-fu-ck` are
 *   rejected, `cash-item` and `push-it` are not.
 * - A term marked `=` must be a whole word in plain letters: `ass` is rejected, `class` and `galaxy-a55` are not.
 * The answer says which of the two applied, but never which term: that would only help to get around it.
 */

import type { LinkContext } from './context.ts';
import { isLeased } from './leased-spans.ts';
import { codePattern } from './link.ts';

export interface AliasPolicy {
  judge(alias: string): AliasVerdict;
  /** Whether a generated code may be issued. */
  isAllowedCode(code: string): boolean;
}

export interface AliasPolicyOptions {
  readonly reserved: readonly string[];
  /** Plain, `=` and `~` terms as described in alias-words.ts. */
  readonly offensive: readonly string[];
}

/** The rule that rejects an alias; also the code of the problem that the caller gets. */
export type AliasRule = 'invalid_alias' | 'alias_reserved' | 'alias_offensive';

export type AliasVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: AliasRule; readonly detail: string };

const allowed: AliasVerdict = { ok: true };
const reserved: AliasVerdict = { ok: false, code: 'alias_reserved', detail: 'this alias is reserved' };
const offensive: AliasVerdict = {
  ok: false,
  code: 'alias_offensive',
  detail: 'this alias contains a word that is not allowed',
};
const invalid: AliasVerdict = {
  ok: false,
  code: 'invalid_alias',
  detail: 'an alias is 1 to 64 characters long and made of the letters A-Z and a-z, digits, "-" and "_"',
};

export function createAliasPolicy(options: AliasPolicyOptions): AliasPolicy {
  const reservedWords = new Set(options.reserved.map(word => word.toLowerCase()));
  const isOffensive = createTermFinder(options.offensive);

  function judge(alias: string): AliasVerdict {
    const lower = alias.toLowerCase();
    // Before the shape, because reserved words such as `robots.txt` are not even made of our characters.
    if (reservedWords.has(lower)) return reserved;
    if (!codePattern.test(alias)) return invalid;
    return isOffensive(lower) ? offensive : allowed;
  }
  return { judge, isAllowedCode: code => judge(code).ok };
}

function createTermFinder(terms: readonly string[]): (lower: string) => boolean {
  const words = terms.map(term => term.toLowerCase()).filter(term => /[^=~]/.test(term));
  const innocent = words.filter(word => word.startsWith('~')).map(word => word.slice(1));
  const wholeOnly = words.filter(word => word.startsWith('=')).map(word => word.slice(1));
  const anywhere = words.filter(word => !/^[=~]/.test(word));

  const split = [...anywhere.map(spellings), ...wholeOnly.map(plainly)].map(letters => letters.join('[_-]*'));
  const whole = split.length === 0 ? [] : [`(?<![^_-])(?:${split.join('|')})(?![^_-])`];
  const offensivePattern = new RegExp(anyOf([...anywhere.map(word => spellings(word).join('')), ...whole]));
  const innocentPattern = new RegExp(anyOf(innocent.map(word => plainly(word).join(''))), 'g');

  // An innocent word is replaced by a character that is neither letter nor separator, so its surroundings do not join
  // up.
  return lower => offensivePattern.test(lower) && offensivePattern.test(lower.replace(innocentPattern, '.'));
}

/** Digits that stand in for a letter. A character class per letter avoids choosing whether `1` means `i` or `l`. */
const standIns: Readonly<Record<string, string>> = {
  a: '[a4]',
  e: '[e3]',
  i: '[i1]',
  l: '[l1]',
  o: '[o0]',
  s: '[s5]',
  t: '[t7]',
};

function spellings(word: string): string[] {
  return plainly(word).map(letter => standIns[letter] ?? letter);
}

function plainly(word: string): string[] {
  return [...word].map(letter => letter.replace(/[^a-z0-9]/, '\\$&'));
}

/** The empty negative lookahead matches nowhere, as an empty list should. */
function anyOf(patterns: readonly string[]): string {
  return patterns.length === 0 ? '(?!)' : patterns.join('|');
}

export type AliasAvailability =
  | { readonly isFree: true }
  | {
      readonly isFree: false;
      readonly code: AliasRule | 'alias_taken';
      readonly detail: string;
    };

const taken: AliasAvailability = {
  isFree: false,
  code: 'alias_taken',
  detail: 'this alias is already taken',
};

export async function aliasAvailability(context: LinkContext, alias: string): Promise<AliasAvailability> {
  const verdict = context.aliasPolicy.judge(alias);
  if (!verdict.ok) return { isFree: false, code: verdict.code, detail: verdict.detail };
  // A deleted link keeps its code, and one that has the shape of a generated code may have been leased to a process.
  if ((await context.store.find(alias)) !== undefined) return taken;
  const claim = context.claimOf(alias);
  if (claim !== undefined && isLeased(await context.store.spans(claim.length), claim.id)) return taken;
  return { isFree: true };
}
