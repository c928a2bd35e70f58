import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { texts } from '../../texts.ts';

/** A page's first heading, which is also its name in the browser's tab and history. */
export function PageHeader({
  title,
  note,
  children,
}: {
  readonly title: string;
  readonly note?: string;
  readonly children?: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${title} · ${texts.product}`;
  }, [title]);
  return (
    <header class="page-header">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {note !== undefined && <p class="page-note">{note}</p>}
      </div>
      {children !== undefined && <div class="page-actions">{children}</div>}
    </header>
  );
}
