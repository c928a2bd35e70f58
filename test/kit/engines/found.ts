/** The thing that was found, or why it is unavailable. */
export type Found<Thing> = { readonly thing: Thing } | { readonly reason: string };

export function thingOf<Thing>(found: Found<Thing>): Thing {
  if ('reason' in found) throw new Error(found.reason);
  return found.thing;
}

/** Looks once per process: looking may mean a download. */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
