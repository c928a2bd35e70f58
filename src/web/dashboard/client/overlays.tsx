/** The one dialog that is open, if any. */
import type { Role } from './api/types.ts';
import { HelpDialog } from './help-dialog.tsx';
import { CreateDialog } from './links/create-dialog.tsx';
import { EditDialog } from './links/edit-dialog.tsx';
import { QrDialog } from './links/qr-dialog.tsx';
import { MoreDialog } from './more-dialog.tsx';
import { Palette } from './palette.tsx';
import { overlay } from './state/overlay.ts';
import { useStore } from './state/store.ts';

export function Overlays({ role }: { readonly role: Role }) {
  const open = useStore(overlay);
  switch (open.kind) {
    case 'create':
      // A new object is a new wish: what was typed for the last one must not stay.
      return <CreateDialog key={keyOf(open)} longUrl={open.longUrl} />;
    case 'edit':
      return <EditDialog link={open.link} onSaved={open.onSaved} />;
    case 'qr':
      return <QrDialog link={open.link} />;
    case 'palette':
      return <Palette role={role} />;
    case 'help':
      return <HelpDialog role={role} />;
    case 'more':
      return <MoreDialog role={role} />;
    case 'none':
      return null;
  }
}

const keys = new WeakMap<object, number>();
let lastKey = 0;

function keyOf(object: object): number {
  const known = keys.get(object);
  if (known !== undefined) return known;
  lastKey += 1;
  keys.set(object, lastKey);
  return lastKey;
}
