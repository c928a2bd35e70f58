/**
 * A window with a form: sends once at a time, stays open and says why when the server refuses. What the server says
 * about one field goes to that field if the form shows its fields' problems, else above them all.
 */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { ApiProblem, messageOf } from '../api/problem.ts';
import { Button } from './button.tsx';
import { Dialog, type DialogProps } from './dialog.tsx';

/** What the server said, by the name of the field it is about. */
export type FieldProblems = Readonly<Record<string, string>>;

export interface FormDialogProps extends Pick<DialogProps, 'title' | 'onClose' | 'size'> {
  readonly submitLabel: string;
  readonly canSubmit?: boolean;
  /** Whatever it throws is shown. */
  readonly onSubmit: () => Promise<void>;
  readonly children: ComponentChildren | ((problems: FieldProblems) => ComponentChildren);
}

export function FormDialog({
  submitLabel,
  canSubmit = true,
  onSubmit,
  children,
  onClose,
  ...dialog
}: FormDialogProps) {
  const [problem, setProblem] = useState<{ readonly message: string; readonly field: string | undefined }>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await onSubmit();
    } catch (error) {
      setProblem({
        message: messageOf(error),
        field: error instanceof ApiProblem ? error.field : undefined,
      });
      setBusy(false);
    }
  };
  const showsFields = typeof children === 'function';
  const field = showsFields ? problem?.field : undefined;
  return (
    <form
      class="contents"
      noValidate
      onSubmit={event => {
        event.preventDefault();
        if (!isBusy) void submit();
      }}
    >
      <Dialog
        {...dialog}
        onClose={onClose}
        footer={
          <>
            <Button kind="quiet" onClick={onClose}>
              {texts.actions.cancel}
            </Button>
            <Button kind="primary" type="submit" busy={isBusy} disabled={!canSubmit}>
              {submitLabel}
            </Button>
          </>
        }
      >
        {problem !== undefined && field === undefined && (
          <p class="notice" role="alert">
            {problem.message}
          </p>
        )}
        {showsFields
          ? children(problem === undefined || field === undefined ? {} : { [field]: problem.message })
          : children}
      </Dialog>
    </form>
  );
}
