/** Modal dialogs. The browser's own dialog element keeps the focus inside and dims the rest. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { ApiProblem, messageOf } from '../api/request.ts';
import { Button, IconButton } from './button.tsx';
import { CopyButton } from './copy.tsx';
import { ProblemNotice, useSubmit } from './field.tsx';
import { placeToasts } from './toast.tsx';

/** What is asked before a dialog closes that would lose something. */
interface CloseQuestion {
  readonly title: string;
  readonly text: string;
  readonly keep: string;
  readonly action: string;
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly footer?: ComponentChildren;
  readonly size?: 'small' | 'medium' | 'large';
  /** For dialogs that must be answered: signing in again. */
  readonly isStubborn?: boolean;
  /** Asked when Escape, a click outside or the cross would close it. */
  readonly question?: CloseQuestion | undefined;
}

export function Dialog({
  title,
  onClose,
  children,
  footer,
  size = 'medium',
  isStubborn = false,
  question,
}: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    const dialog = element.current;
    if (dialog === null || dialog.open) return;
    dialog.showModal();
    dialog.querySelector<HTMLElement>('[data-autofocus]')?.focus();
    placeToasts();
    return () => {
      dialog.close();
      placeToasts();
    };
  }, []);
  const leave = (): void => {
    if (isStubborn) return;
    if (question === undefined) onClose();
    else setAsking(true);
  };
  return (
    <>
      <dialog
        ref={element}
        class={`dialog dialog-${size}`}
        aria-labelledby={titleId}
        onKeyDown={event => {
          // A browser closes a dialog by itself when Escape is pressed twice, whatever the page says about it.
          if (event.key !== 'Escape' || event.isComposing) return;
          event.preventDefault();
          event.stopPropagation();
          leave();
        }}
        onCancel={event => {
          if (event.target !== element.current) return;
          event.preventDefault();
          leave();
        }}
        onMouseDown={event => {
          if (event.target === element.current) leave();
        }}
      >
        <div class="dialog-frame">
          <div class="dialog-header">
            <h2 id={titleId}>{title}</h2>
            {!isStubborn && <IconButton label={texts.actions.close} icon="close" onClick={leave} />}
          </div>
          <div class="dialog-body">{children}</div>
          {footer !== undefined && <div class="dialog-footer">{footer}</div>}
        </div>
      </dialog>
      {isAsking && question !== undefined && (
        <ConfirmDialog
          {...question}
          onConfirm={async () => onClose()}
          onClose={() => setAsking(false)}
          cancelLabel={question.keep}
        />
      )}
    </>
  );
}

/** The server's errors, by the name of the field. */
type FieldProblems = Readonly<Record<string, string>>;

interface FormDialogProps extends Pick<DialogProps, 'title' | 'onClose' | 'size'> {
  readonly submitLabel: string;
  readonly canSubmit?: boolean;
  /** Whether there is something to lose that was not typed, but chosen with buttons or filled in before. */
  readonly isFilled?: boolean;
  /** An error that it throws is shown. */
  readonly onSubmit: () => Promise<void>;
  readonly children: ComponentChildren | ((problems: FieldProblems) => ComponentChildren);
}

/**
 * A dialog with a form: submits once at a time, and stays open with an error when the server rejects it. An error about
 * one field goes to that field if the form shows its fields' errors, else above them all. What was typed is not lost
 * without a question.
 */
export function FormDialog({
  submitLabel,
  canSubmit = true,
  isFilled = false,
  onSubmit,
  children,
  onClose,
  ...dialog
}: FormDialogProps) {
  const form = useSubmit(onSubmit, { staysBusy: true });
  const [isTouched, setTouched] = useState(false);
  const showsFields = typeof children === 'function';
  const field = showsFields && form.problem instanceof ApiProblem ? form.problem.field : undefined;
  return (
    <form class="contents" noValidate onSubmit={form.onSubmit} onInput={() => setTouched(true)}>
      <Dialog
        {...dialog}
        onClose={onClose}
        question={isTouched || isFilled ? texts.discard : undefined}
        footer={
          <>
            <Button kind="quiet" onClick={onClose}>
              {texts.actions.cancel}
            </Button>
            <Button kind="primary" type="submit" busy={form.isBusy} disabled={!canSubmit}>
              {submitLabel}
            </Button>
          </>
        }
      >
        {field === undefined && <ProblemNotice problem={form.problem} />}
        {showsFields ? children(field === undefined ? {} : { [field]: messageOf(form.problem) }) : children}
      </Dialog>
    </form>
  );
}

interface ConfirmDialogProps {
  readonly title: string;
  readonly text: string;
  readonly action: string;
  readonly cancelLabel?: string;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks for confirmation before an action that cannot be undone. */
export function ConfirmDialog({
  title,
  text,
  action,
  cancelLabel = texts.actions.cancel,
  onConfirm,
  onClose,
}: ConfirmDialogProps) {
  const [isBusy, setBusy] = useState(false);
  return (
    <Dialog
      title={title}
      size="small"
      onClose={onClose}
      footer={
        <>
          <Button kind="quiet" data-autofocus onClick={onClose}>
            {cancelLabel}
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

interface SecretDialogProps {
  readonly title: string;
  readonly text: string;
  readonly secret: string;
  readonly copyLabel: string;
  readonly doneLabel: string;
  readonly onClose: () => void;
}

/** Shows a secret the only time that it can be shown; only the button at its end closes it without a question. */
export function SecretDialog({ title, text, secret, copyLabel, doneLabel, onClose }: SecretDialogProps) {
  const { secretTitle, secretText, secretKeep, secretAction } = texts.discard;
  return (
    <Dialog
      title={title}
      size="small"
      onClose={onClose}
      question={{ title: secretTitle, text: secretText, keep: secretKeep, action: secretAction }}
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
