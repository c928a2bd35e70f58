/**
 * Randomness, injected. `systemRandom` is cryptographically strong; `seededRandom` replays the same run
 * from the same seed and is for tests and benches only. Nothing outside this file draws random numbers.
 */
export interface Random {
  bytes(length: number): Uint8Array;
  /** A float in [0, 1). */
  float(): number;
}

export const systemRandom: Random = {
  bytes: length => crypto.getRandomValues(new Uint8Array(length)),
  float: () => Math.random(),
};

/** Mulberry32: small, fast, repeatable; not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const nextUint32 = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  return {
    bytes: length => Uint8Array.from({ length }, () => nextUint32() & 0xff),
    float: () => nextUint32() / 0x1_0000_0000,
  };
}
