/**
 * Compiles a table to a function that creates objects of one shape, as fast and as compact as an object literal. The
 * table becomes code, so nothing in it may come from outside.
 */
export interface Member {
  readonly name: string;
  /** The property of the input. */
  readonly from: string;
  /** Converts the value; it is used unchanged without one. */
  readonly by?: ((value: never) => unknown) | undefined;
}

export function compileObject<Input, Output>(members: readonly Member[]): (input: Input) => Output {
  return compiled(
    members,
    values =>
      `({ ${members.map(({ name }, index) => `${JSON.stringify(name)}: ${values[index]}`).join(', ')} })`,
  );
}

/** The same for a list of the values alone, in the order of the table. */
export function compileList<Input, Value>(
  members: readonly Omit<Member, 'name'>[],
): (input: Input) => Value[] {
  return compiled(members, values => `[${values.join(', ')}]`);
}

function compiled<Input, Output>(
  members: readonly Omit<Member, 'name'>[],
  literalOf: (values: readonly string[]) => string,
): (input: Input) => Output {
  const converters = members.map(({ by }) => by);
  const parameters = members.map((_, index) => `by${index}`);
  const values = members.map(({ from, by }, index) => {
    const value = `input[${JSON.stringify(from)}]`;
    return by === undefined ? value : `by${index}(${value})`;
  });
  const make = new Function(...parameters, `return input => ${literalOf(values)};`);
  return make(...converters) as (input: Input) => Output;
}
