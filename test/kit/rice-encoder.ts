/** Rice–Golomb coding like that of a Safe Browsing server, bit by bit: simple rather than fast. */
import type { RiceDeltas } from '../../src/abuse/safe-browsing/rice.ts';

export function encodeRice(ascending: readonly number[], riceParameter: number): RiceDeltas {
  const [firstValue = 0, ...rest] = ascending;
  const bits: number[] = [];
  let before = firstValue;
  for (const value of rest) {
    const delta = value - before;
    before = value;
    for (let ones = Math.floor(delta / 2 ** riceParameter); ones > 0; ones -= 1) bits.push(1);
    bits.push(0);
    for (let bit = 0; bit < riceParameter; bit += 1) bits.push(Math.floor(delta / 2 ** bit) % 2);
  }
  const encodedData = new Uint8Array(Math.ceil(bits.length / 8));
  bits.forEach((bit, index) => {
    encodedData[index >> 3]! |= bit << (index & 7);
  });
  return {
    firstValue,
    riceParameter: rest.length === 0 ? 0 : riceParameter,
    entriesCount: rest.length,
    encodedData,
  };
}

/** The parameter that makes evenly spread numbers shortest. */
export function fittingParameter(ascending: readonly number[], min: number, max: number): number {
  const span = (ascending.at(-1) ?? 0) - (ascending[0] ?? 0);
  const meanDelta = span / Math.max(1, ascending.length - 1);
  return Math.min(max, Math.max(min, Math.floor(Math.log2(Math.max(1, meanDelta)))));
}
