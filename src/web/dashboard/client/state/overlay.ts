/** What lies over the page: at most one dialog at a time, opened from anywhere. */
import type { LinkView } from '../api/types.ts';
import { createStore } from './store.ts';

export type Overlay =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly longUrl: string }
  | { readonly kind: 'edit'; readonly link: LinkView; readonly onSaved?: (link: LinkView) => void }
  | { readonly kind: 'qr'; readonly link: LinkView }
  | { readonly kind: 'palette' }
  | { readonly kind: 'help' }
  | { readonly kind: 'more' };

export const overlay = createStore<Overlay>({ kind: 'none' });

export const openOverlay = (next: Overlay): void => overlay.set(next);
export const closeOverlay = (): void => overlay.set({ kind: 'none' });
