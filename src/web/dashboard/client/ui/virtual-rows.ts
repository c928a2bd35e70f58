/** Which rows of a long list are in view. Only those are drawn, so ten thousand cost as much as thirty. */
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

export interface VisibleRows {
  readonly first: number;
  /** Just behind the last. */
  readonly end: number;
}

/** Drawn above and below what is in view, so that a quick scroll meets no gap. */
const spareRows = 8;

export function useVisibleRows(
  list: RefObject<HTMLElement | null>,
  count: number,
  rowHeightPx: number,
): VisibleRows {
  const [visible, setVisible] = useState<VisibleRows>({ first: 0, end: Math.min(count, 30) });

  const measure = (): void => {
    const top = list.current?.getBoundingClientRect().top ?? 0;
    const first = Math.max(0, Math.floor(-top / rowHeightPx) - spareRows);
    const end = Math.min(count, Math.ceil((innerHeight - top) / rowHeightPx) + spareRows);
    setVisible(before =>
      before.first === first && before.end === end
        ? before
        : { first: Math.min(first, count), end: Math.max(end, 0) },
    );
  };

  useLayoutEffect(measure, [count, rowHeightPx]);
  useEffect(() => {
    let frame = 0;
    const soon = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(measure);
    };
    addEventListener('scroll', soon, { passive: true });
    addEventListener('resize', soon);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener('scroll', soon);
      removeEventListener('resize', soon);
    };
  }, [count, rowHeightPx]);
  return visible;
}

/** Brings a row into view that may not be drawn yet. */
export function scrollToRow(list: HTMLElement, index: number, rowHeightPx: number, headerPx: number): void {
  const top = list.getBoundingClientRect().top + scrollY + index * rowHeightPx;
  if (top - headerPx < scrollY) scrollTo(0, top - headerPx);
  else if (top + rowHeightPx > scrollY + innerHeight) scrollTo(0, top + rowHeightPx - innerHeight + 16);
}
