/** Words for values that the server may add to. */
export type Words = Readonly<Record<string, string>>;
