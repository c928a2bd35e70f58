import { texts } from '../../texts.ts';
import type { LinkStatus } from '../api/types.ts';

/** The state of a link in a word, with a colour that only repeats it. */
export function StatusBadge({ status }: { readonly status: LinkStatus }) {
  return <span class={`badge badge-${status}`}>{texts.status[status]}</span>;
}

export function Tag({ name }: { readonly name: string }) {
  return <span class="tag">{name}</span>;
}
