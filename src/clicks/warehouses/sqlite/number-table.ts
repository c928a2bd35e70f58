/** The combinations of a group (groups.ts) while it is made. */

/** Numbers, each once, with their places in the order in which they came. A `Map` takes three times as long. */
export class NumberTable {
  readonly #cells: Float64Array;
  /** One more than the place; zero for a free cell. */
  readonly #places: Uint32Array;
  readonly #numbers: Float64Array;
  size = 0;

  constructor(sizeMax: number) {
    const cells = 2 ** Math.ceil(Math.log2(1.5 * sizeMax));
    this.#cells = new Float64Array(cells);
    this.#places = new Uint32Array(cells);
    this.#numbers = new Float64Array(sizeMax);
  }

  placeOf(number: number): number {
    const mask = this.#cells.length - 1;
    const mixed = Math.imul((number >>> 0) ^ Math.imul((number / 2 ** 32) | 0, 0x85eb_ca6b), 0x9e37_79b1);
    let cell = (mixed ^ (mixed >>> 15)) & mask;
    for (; this.#places[cell] !== 0; cell = (cell + 1) & mask)
      if (this.#cells[cell] === number) return this.#places[cell]! - 1;
    this.#cells[cell] = number;
    this.#numbers[this.size] = number;
    this.size += 1;
    this.#places[cell] = this.size;
    return this.size - 1;
  }

  /** The numbers, ascending, and where each is among them. Of each the part above `unit` is made its place in `heads` before. */
  sorted(
    heads: readonly number[],
    unit: number,
  ): { readonly keys: Float64Array; readonly sorted: Uint32Array } {
    const numberOf = new Uint32Array(heads.length);
    for (const [number, head] of heads.entries()) numberOf[head] = number;
    const keys = new Float64Array(this.size);
    for (let index = 0; index < keys.length; index += 1) {
      const before = this.#numbers[index]!;
      keys[index] = numberOf[Math.floor(before / unit)]! * unit + (before % unit);
    }
    keys.sort();
    const sorted = new Uint32Array(this.size);
    for (let index = 0; index < keys.length; index += 1) {
      const before = heads[Math.floor(keys[index]! / unit)]! * unit + (keys[index]! % unit);
      sorted[this.placeOf(before)] = index;
    }
    return { keys, sorted };
  }
}
