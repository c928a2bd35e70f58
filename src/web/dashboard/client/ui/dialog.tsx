/** Modal dialogs. The browser's own dialog element keeps the focus inside and dims the rest. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { ApiProblem, messageOf } from '../api/request.ts';
import { holdPage } from '../state/router.ts';
import { Button, IconButton } from './button.tsx';
import { CopyButton } from './copy.tsx';
import { ProblemNotice, useSubmit } from './field.tsx';
import { placeToasts } from './toast.tsx';

/** The question before a dialog closes whose input would be lost. */
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
  readonly isRequired?: boolean;
  /** Asked when Escape, a click outside or the cross would close it. */
  readonly question?: CloseQuestion | undefined;
  /** Whether it shows what cannot be shown again: then Back asks, too. */
  readonly isSecret?: boolean;
}

export function Dialog({
  title,
  onClose,
  children,
  footer,
  size = 'medium',
  isRequired = false,
  question,
  isSecret = false,
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
  // Back and closing the tab would lose it, too.
  useEffect(() => (isSecret ? holdPage(() => setAsking(true)) : undefined), [isSecret]);
  const leave = (): void => {
    if (isRequired) return;
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
        onClose={() => {
          // Some browsers close it by themselves after several attempts; it must still be answered.
          if (element.current?.isConnected && !element.current.open) element.current.showModal();
        }}
        onMouseDown={event => {
          if (event.target === element.current) leave();
        }}
      >
        <div class="dialog-frame">
          <div class="dialog-header">
            <h2 id={titleId}>{title}</h2>
            {!isRequired && <IconButton label={texts.actions.close} icon="close" onClick={leave} />}
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
  /** The names of the fields that show their own errors. */
  readonly fields?: readonly string[];
  readonly children: ComponentChildren | ((problems: FieldProblems) => ComponentChildren);
}

/**
 * A dialog with a form: submits once at a time, and stays open with an error when the server rejects it. An error about
 * one field goes to that field if it shows its own errors, else above them all. What was typed is not lost
 * without a question.
 */
export function FormDialog({
  submitLabel,
  canSubmit = true,
  isFilled = false,
  onSubmit,
  fields = [],
  children,
  onClose,
  ...dialog
}: FormDialogProps) {
  const form = useSubmit(onSubmit, { canSubmit, staysBusy: true });
  const [isTouched, setTouched] = useState(false);
  // An error of a list entry, such as `tags.3`, belongs to the field of the list.
  const named = form.problem instanceof ApiProblem ? form.problem.field?.split('.', 1)[0] : undefined;
  const field = fields.find(name => name === named);
  const onInput = (): void => {
    setTouched(true);
    // The error is about the previous input.
    form.forget();
  };
  return (
    <form class="contents" noValidate onSubmit={form.onSubmit} onInput={onInput}>
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
        {typeof children === 'function'
          ? children(field === undefined ? {} : { [field]: messageOf(form.problem) })
          : children}
      </Dialog>
    </form>
  );
}

interface ConfirmDialogProps {
  readonly title: string;
  readonly text: string;
  readonly action: string;
  readonly cancelLabel?: string;
  /** An error that it throws is shown. */
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
  const { problem, isBusy, onSubmit } = useSubmit(onConfirm, { staysBusy: true });
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
          <Button kind="danger" busy={isBusy} onClick={onSubmit}>
            {action}
          </Button>
        </>
      }
    >
      <ProblemNotice problem={problem} />
      <p>{text}</p>
    </Dialog>
  );
}

export function secretQuestion(): CloseQuestion {
  const { secretTitle, secretText, secretKeep, secretAction } = texts.discard;
  return { title: secretTitle, text: secretText, keep: secretKeep, action: secretAction };
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
  return (
    <Dialog
      title={title}
      size="small"
      onClose={onClose}
      question={secretQuestion()}
      isSecret
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
