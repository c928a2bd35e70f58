/**
 * Thrown for bytes that no sketch has written: they were cut off, altered, or were something else all along.
 */
export class BrokenSketch extends Error {
  override readonly name = 'BrokenSketch';

  constructor(reason: string) {
    super(`these bytes are not a visitor sketch: ${reason}`);
  }
}
