/** Editing a link: the same fields, and only what was changed goes to the server. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { editLink } from '../api/links.ts';
import { ApiProblem, messageOf } from '../api/problem.ts';
import type { LinkView } from '../api/types.ts';
import { putLink } from '../state/link-index.ts';
import { closeOverlay } from '../state/overlay.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { showToast } from '../ui/toast.tsx';
import { problemsOf } from './create-dialog.tsx';
import { LinkFieldset } from './link-fields.tsx';
import { changesOf, draftOf } from './link-form.ts';

export interface EditDialogProps {
  readonly link: LinkView;
  readonly onSaved?: ((link: LinkView) => void) | undefined;
}

export function EditDialog({ link, onSaved }: EditDialogProps) {
  const [draft, setDraft] = useState(() => draftOf(link));
  const [problem, setProblem] = useState<ApiProblem>();
  const [isBusy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    const changes = changesOf(draft, link);
    if (Object.keys(changes).length === 0) return closeOverlay();
    setBusy(true);
    try {
      const saved = await editLink(link.shortCode, changes);
      putLink(saved);
      onSaved?.(saved);
      showToast(texts.links.saved);
      closeOverlay();
    } catch (error) {
      setProblem(error instanceof ApiProblem ? error : new ApiProblem(0, 'unknown', messageOf(error)));
      setBusy(false);
    }
  };
  return (
    <form
      class="contents"
      noValidate
      onSubmit={event => {
        event.preventDefault();
        if (!isBusy) void save();
      }}
    >
      <Dialog
        title={texts.form.editTitle(link.shortCode)}
        onClose={closeOverlay}
        footer={
          <>
            <Button kind="quiet" onClick={closeOverlay}>
              {texts.actions.cancel}
            </Button>
            <Button kind="primary" type="submit" busy={isBusy}>
              {texts.actions.save}
            </Button>
          </>
        }
      >
        {problem !== undefined && problem.field === undefined && (
          <p class="notice" role="alert">
            {problem.message}
          </p>
        )}
        <LinkFieldset draft={draft} onDraft={setDraft} isNew={false} problems={problemsOf(problem)} />
      </Dialog>
    </form>
  );
}
