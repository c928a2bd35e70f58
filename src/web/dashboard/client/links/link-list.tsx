/** The rows of the links page. Of thousands only those in view exist; j, k, x and Enter work on a cursor. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import type { LinkTotal, LinkView } from '../api/types.ts';
import { wantTotals } from '../state/link-totals.ts';
import { goTo } from '../state/router.ts';
import { onKeys } from '../state/shortcuts.ts';
import { scrollToRow, useVisibleRows } from '../ui/virtual-rows.ts';
import { linkActions } from './link-actions.ts';
import { LinkRow } from './link-row.tsx';

const rowHeightPx = 68;
/** What sticks to the top of the page and hides rows. */
const stickyPx = 140;

export interface LinkListProps {
  readonly links: readonly LinkView[];
  readonly totals: ReadonlyMap<string, LinkTotal>;
  readonly selected: ReadonlySet<string>;
  readonly onSelected: (selected: ReadonlySet<string>) => void;
}

export function LinkList({ links, totals, selected, onSelected }: LinkListProps) {
  const list = useRef<HTMLUListElement>(null);
  const { first, end } = useVisibleRows(list, links.length, rowHeightPx);
  const [cursor, setCursor] = useState(-1);
  const anchor = useRef(-1);
  const shown = links.slice(first, end);

  useEffect(() => wantTotals(shown.map(({ shortCode }) => shortCode)), [shown]);
  useLayoutEffect(() => {
    list.current?.style.setProperty('height', `${links.length * rowHeightPx}px`);
  }, [links.length]);

  const select = (position: number, isRange: boolean): void => {
    const next = new Set(selected);
    const from = isRange && anchor.current >= 0 ? Math.min(anchor.current, position) : position;
    const to = isRange && anchor.current >= 0 ? Math.max(anchor.current, position) : position;
    const isAdding = !selected.has(links[position]!.shortCode);
    for (const { shortCode } of links.slice(from, to + 1)) {
      if (isAdding) next.add(shortCode);
      else next.delete(shortCode);
    }
    anchor.current = position;
    onSelected(next);
  };
  const move = (by: number): void => {
    const next = Math.max(0, Math.min(links.length - 1, cursor + by));
    setCursor(next);
    if (list.current !== null) scrollToRow(list.current, next, rowHeightPx, stickyPx);
    requestAnimationFrame(() =>
      list.current?.querySelector<HTMLElement>(`[data-row-link="${next}"]`)?.focus(),
    );
  };
  useEffect(() =>
    onKeys({
      j: () => move(1),
      k: () => move(-1),
      x: () => {
        if (links[cursor] !== undefined) select(cursor, false);
      },
      o: () => {
        const link = links[cursor];
        if (link !== undefined) goTo(`/links/${link.shortCode}`);
      },
    }),
  );
  return (
    <ul class="link-list" ref={list} aria-label={texts.links.title}>
      <RowSpace rows={first} />
      {shown.map((link, offset) => (
        <LinkRow
          key={link.shortCode}
          link={link}
          total={totals.get(link.shortCode)}
          position={first + offset}
          count={links.length}
          isSelected={selected.has(link.shortCode)}
          isAtCursor={first + offset === cursor}
          onSelect={isRange => select(first + offset, isRange)}
          actions={linkActions}
        />
      ))}
    </ul>
  );
}

/** Stands where the rows above would be. */
function RowSpace({ rows }: { readonly rows: number }) {
  return <li class="row-space" aria-hidden="true" style={{ height: `${rows * rowHeightPx}px` }} />;
}
