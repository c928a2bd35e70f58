/** Asks once more before something that cannot be undone. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

export interface ConfirmDialogProps {
  readonly title: string;
  readonly text: string;
  readonly action: string;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

export function ConfirmDialog({ title, text, action, onConfirm, onClose }: ConfirmDialogProps) {
  const [isBusy, setBusy] = useState(false);
  return (
    <Dialog
      title={title}
      size="small"
      onClose={onClose}
      footer={
        <>
          <Button kind="quiet" data-autofocus onClick={onClose}>
            {texts.actions.cancel}
          </Button>
          <Button
            kind="danger"
            busy={isBusy}
            onClick={() => {
              setBusy(true);
              void onConfirm();
            }}
          >
            {action}
          </Button>
        </>
      }
    >
      <p>{text}</p>
    </Dialog>
  );
}
