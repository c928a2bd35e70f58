/** The owner's answer to a link being held: a few words for the moderators. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { appeal } from '../api/moderation.ts';
import type { LinkView } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { showToast } from '../ui/toast.tsx';

export const isHeld = ({ status }: LinkView): boolean => status === 'quarantined' || status === 'blocked';

export function AppealButton({ link }: { readonly link: LinkView }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button small onClick={() => setOpen(true)}>
        {texts.appeal.open}
      </Button>
      {isOpen && <AppealDialog code={link.shortCode} onClose={() => setOpen(false)} />}
    </>
  );
}

function AppealDialog({ code, onClose }: { readonly code: string; readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const send = async (): Promise<void> => {
    await appeal(code, text.trim());
    showToast(texts.appeal.sent);
    onClose();
  };
  return (
    <FormDialog
      title={texts.appeal.title}
      size="small"
      onClose={onClose}
      submitLabel={texts.appeal.send}
      canSubmit={text.trim() !== ''}
      onSubmit={send}
    >
      <Field label={texts.appeal.words} help={texts.appeal.help}>
        {ids => (
          <textarea
            {...ids}
            class="input"
            rows={4}
            maxLength={2000}
            value={text}
            data-autofocus
            onInput={event => setText(event.currentTarget.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
