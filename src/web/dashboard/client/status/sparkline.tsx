/** A number's recent past as a small line. The number itself is beside it, so the line is decoration. */
const width = 120;
const height = 28;

export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const most = Math.max(...values, 1e-9);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, index) =>
      `${(index * step).toFixed(1)},${(height - 2 - (value / most) * (height - 4)).toFixed(1)}`,
  );
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {points.length > 1 && <polyline points={points.join(' ')} />}
    </svg>
  );
}
