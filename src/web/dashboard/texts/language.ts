/** What every language's texts are made with. */

/** A translation has every text of the original, and functions take the same values. A missing text is a type error. */
export type Translation<Original> = Original extends string
  ? string
  : Original extends (...values: infer Values) => infer Result
    ? (...values: Values) => Result
    : { readonly [Name in keyof Original]: Translation<Original[Name]> };

/** Words for values that the server may add to. */
export type Words = Readonly<Record<string, string>>;

interface Counting {
  /** The word for that many: “link”, “links”. */
  readonly plural: (count: number, one: string, other: string) => string;
  /** The number with its word: “1 link”, “1,000 links”. */
  readonly counted: (count: number, one: string, other: string) => string;
}

/** The rules of a language about numbers. Both of ours have two forms; one with more needs more words here. */
export function countingIn(locale: string): Counting {
  const rules = new Intl.PluralRules(locale);
  const numbers = new Intl.NumberFormat(locale);
  const plural: Counting['plural'] = (count, one, other) => (rules.select(count) === 'one' ? one : other);
  return {
    plural,
    counted: (count, one, other) => `${numbers.format(count)} ${plural(count, one, other)}`,
  };
}
