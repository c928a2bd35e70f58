/** From figures to places in a drawing, with the round figures that an axis is labelled with. */
export interface Scale {
  /** Where a figure lies, from 0 to 1. */
  at(value: number): number;
  readonly ticks: readonly number[];
}

const roundSteps = [1, 2, 2.5, 5, 10];

/** The smallest round step that makes no more than so many of a span. */
function roundStep(span: number, stepsMax: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(span / stepsMax));
  return magnitude * roundSteps.find(round => span / (round * magnitude) <= stepsMax)!;
}

/** From zero, or from below it where figures are, to the first round figure that is not exceeded. */
export function linearScale(values: readonly number[], ticksMax: number): Scale {
  const finite = values.filter(Number.isFinite);
  const low = Math.min(0, ...finite);
  const span = Math.max(0, ...finite) - low || 1;
  const step = roundStep(span, ticksMax);
  const first = Math.floor(low / step);
  const last = Math.max(first + 1, Math.ceil((low + span) / step - 1e-9));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => tidy((first + index) * step));
  return { at: value => (value / step - first) / (last - first), ticks };
}

/** Exactly from the first to the last figure, with the round figures between. */
export function spanScale(values: readonly number[], ticksMax: number): Scale {
  const finite = values.filter(Number.isFinite);
  const low = finite.length === 0 ? 0 : Math.min(...finite);
  const span = (finite.length === 0 ? 0 : Math.max(...finite) - low) || 1;
  const step = roundStep(span, ticksMax);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor((low + span) / step + 1e-9) - first + 1;
  const ticks = Array.from({ length: count }, (_, index) => tidy((first + index) * step));
  return { at: value => (value - low) / span, ticks };
}

/** Between powers of ten; figures that have no logarithm lie at the lower end. */
export function logScale(values: readonly number[]): Scale {
  const positive = values.filter(value => value > 0 && Number.isFinite(value));
  if (positive.length === 0) return logScale([1]);
  const first = Math.floor(Math.log10(Math.min(...positive)) + 1e-9);
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...positive)) - 1e-9));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => tidy(10 ** (first + index)));
  return { at: value => (value > 0 ? (Math.log10(value) - first) / (last - first) : 0), ticks };
}

/** Without the last digits that multiplying leaves behind. */
function tidy(value: number): number {
  return Number(value.toPrecision(12));
}

/** A figure on an axis: short, and exact as far as it goes. */
export function formatTick(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${tidy(value / 1e6)} M`;
  if (size >= 1e4) return `${tidy(value / 1e3)} k`;
  return value.toLocaleString('en-US', { maximumSignificantDigits: 6 });
}
