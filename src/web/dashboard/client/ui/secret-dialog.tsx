/** Shows a secret for the one time that it can be shown. */
import { Button } from './button.tsx';
import { CopyButton } from './copy.tsx';
import { Dialog } from './dialog.tsx';

export interface SecretDialogProps {
  readonly title: string;
  readonly text: string;
  readonly secret: string;
  readonly copyLabel: string;
  readonly doneLabel: string;
  readonly onClose: () => void;
}

export function SecretDialog({ title, text, secret, copyLabel, doneLabel, onClose }: SecretDialogProps) {
  return (
    <Dialog
      title={title}
      size="small"
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          {doneLabel}
        </Button>
      }
    >
      <p>{text}</p>
      <p class="secret">
        <code>{secret}</code>
        <CopyButton text={secret} label={copyLabel} />
      </p>
    </Dialog>
  );
}
