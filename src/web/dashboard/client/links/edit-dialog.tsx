/** Editing a link: the same fields, and only what was changed goes to the server. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { editLink } from '../api/links.ts';
import type { LinkView } from '../api/types.ts';
import { putLink } from '../state/link-index.ts';
import { closeOverlay } from '../state/overlay.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { showToast } from '../ui/toast.tsx';
import { LinkFieldset } from './link-fields.tsx';
import { changesOf, draftOf } from './link-form.ts';

export interface EditDialogProps {
  readonly link: LinkView;
  readonly onSaved?: ((link: LinkView) => void) | undefined;
}

export function EditDialog({ link, onSaved }: EditDialogProps) {
  const [draft, setDraft] = useState(() => draftOf(link));
  const save = async (): Promise<void> => {
    const changes = changesOf(draft, link);
    if (Object.keys(changes).length > 0) {
      const saved = await editLink(link.shortCode, changes);
      putLink(saved);
      onSaved?.(saved);
      showToast(texts.links.saved);
    }
    closeOverlay();
  };
  return (
    <FormDialog
      title={texts.form.editTitle(link.shortCode)}
      onClose={closeOverlay}
      submitLabel={texts.actions.save}
      onSubmit={save}
    >
      {problems => <LinkFieldset draft={draft} onDraft={setDraft} isNew={false} problems={problems} />}
    </FormDialog>
  );
}
