/**
 * A function that makes objects of one shape, compiled once from a table, so that it is as fast as an object literal
 * and its objects are as compact. The table is code of ours: nothing in it may come from outside.
 */
export interface Member {
  readonly name: string;
  /** The property of the input. */
  readonly from: string;
  /** Converts the value; it is taken as it is without one. */
  readonly by?: ((value: never) => unknown) | undefined;
}

export function compileObject<Input, Output>(members: readonly Member[]): (input: Input) => Output {
  const converters = members.map(({ by }) => by);
  const parameters = members.map((_, index) => `by${index}`);
  const literal = members.map(({ name, from, by }, index) => {
    const value = `input[${JSON.stringify(from)}]`;
    return `${JSON.stringify(name)}: ${by === undefined ? value : `by${index}(${value})`}`;
  });
  const make = new Function(...parameters, `return input => ({ ${literal.join(', ')} });`);
  return make(...converters) as (input: Input) => Output;
}
