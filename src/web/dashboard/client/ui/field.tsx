/** Labelled inputs. Help and error text are tied to the input, so that a screen reader reads them. */
import type { ComponentChildren, JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { messageOf } from '../api/request.ts';

interface FieldProps {
  readonly label: string;
  readonly help?: ComponentChildren;
  readonly problem?: string | undefined;
  /** Right of the label: a counter, a state. */
  readonly aside?: ComponentChildren;
}

interface FieldIds {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

export function Field({
  label,
  help,
  problem,
  aside,
  children,
}: FieldProps & { readonly children: (ids: FieldIds) => ComponentChildren }) {
  const id = useId();
  const noteId = `${id}-note`;
  const hasNote = problem !== undefined || help !== undefined;
  return (
    <div class="field">
      <div class="field-head">
        <label for={id}>{label}</label>
        {aside !== undefined && <span class="field-aside">{aside}</span>}
      </div>
      {children({
        id,
        'aria-describedby': hasNote ? noteId : undefined,
        'aria-invalid': problem === undefined ? undefined : true,
      })}
      {hasNote && (
        <p
          id={noteId}
          class={problem === undefined ? 'field-help' : 'field-problem'}
          role={problem === undefined ? undefined : 'alert'}
        >
          {problem ?? help}
        </p>
      )}
    </div>
  );
}

export type TextFieldProps = FieldProps & {
  readonly autocapitalize?: string;
  readonly inputMode?: 'url' | 'email';
  readonly spellcheck?: boolean;
  readonly type?: 'text' | 'url' | 'email' | 'password' | 'number' | 'date' | 'datetime-local';
  readonly name?: string;
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly maxLength?: number;
  readonly min?: number;
  readonly required?: boolean;
  readonly disabled?: boolean;
  readonly readOnly?: boolean;
  readonly 'data-autofocus'?: boolean;
  readonly value: string;
  readonly onText: (text: string) => void;
  readonly prefix?: string;
};

export function TextField({ label, help, problem, aside, value, onText, prefix, ...rest }: TextFieldProps) {
  return (
    <Field label={label} help={help} problem={problem} aside={aside}>
      {ids => {
        const input = (
          <input
            type="text"
            {...(rest as JSX.IntrinsicElements['input'])}
            {...ids}
            class="input"
            value={value}
            onInput={event => onText(event.currentTarget.value)}
            {...(rest.readOnly && { onFocus: event => event.currentTarget.select() })}
          />
        );
        if (prefix === undefined) return input;
        return (
          <div class="input-group">
            <span class="input-prefix">{prefix}</span>
            {input}
          </div>
        );
      }}
    </Field>
  );
}

interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** The language of the label, if it is not that of the page. */
  readonly lang?: string;
}

interface ChoiceProps<Value extends string> {
  readonly value: Value;
  readonly choices: readonly Choice<Value>[];
  readonly onValue: (value: Value) => void;
}

/**
 * In a toolbar it has a label for screen readers; in a form the ids of its field. A value that is not among the choices,
 * such as a tag that no loaded link has, is still what is chosen.
 */
export function Select<Value extends string>({
  label,
  value,
  choices,
  onValue,
  ...ids
}: ChoiceProps<Value> & Partial<FieldIds> & { readonly label?: string }) {
  const isListed = choices.some(choice => choice.value === value);
  return (
    <select
      {...(ids as JSX.IntrinsicElements['select'])}
      class="input select"
      aria-label={label}
      value={value}
      onChange={event => onValue(event.currentTarget.value as Value)}
    >
      {(isListed ? choices : [...choices, { value, label: value }]).map(choice => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}

export function SelectField<Value extends string>({
  label,
  help,
  problem,
  ...select
}: FieldProps & ChoiceProps<Value>) {
  return (
    <Field label={label} help={help} problem={problem}>
      {ids => <Select {...ids} {...select} />}
    </Field>
  );
}

export function Switch({
  label,
  help,
  checked,
  onChange,
}: {
  readonly label: string;
  readonly help?: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}) {
  const id = useId();
  return (
    <div class="switch-row">
      <div>
        <label for={id}>{label}</label>
        {help !== undefined && (
          <p id={`${id}-note`} class="field-help">
            {help}
          </p>
        )}
      </div>
      <input
        id={id}
        type="checkbox"
        role="switch"
        class="switch"
        checked={checked}
        aria-checked={checked}
        aria-describedby={help === undefined ? undefined : `${id}-note`}
        onChange={event => onChange(event.currentTarget.checked)}
      />
    </div>
  );
}

/** A few choices side by side, one of which is selected. */
export function Segments<Value extends string>({
  label,
  value,
  choices,
  onValue,
}: {
  readonly label: string;
  readonly value: Value | undefined;
  readonly choices: readonly Choice<Value>[];
  readonly onValue: (value: Value) => void;
}) {
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{label}</legend>
      {choices.map(choice => (
        <button
          key={choice.value}
          type="button"
          class="segment"
          lang={choice.lang}
          aria-pressed={choice.value === value}
          onClick={() => onValue(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </fieldset>
  );
}

/** Submits once at a time; `problem` is the error of the last attempt. */
export function useSubmit(
  work: () => Promise<void>,
  {
    canSubmit = true,
    staysBusy = false,
  }: { readonly canSubmit?: boolean; readonly staysBusy?: boolean } = {},
) {
  const [problem, setProblem] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
      // A form that is about to disappear must not be submitted again meanwhile.
      if (!staysBusy) setBusy(false);
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    if (canSubmit && !isBusy) void submit();
  };
  return { problem, isBusy, onSubmit, forget: () => setProblem(undefined) };
}

export function ProblemNotice({ problem }: { readonly problem: unknown }) {
  return problem === undefined ? null : (
    <p class="notice" role="alert">
      {messageOf(problem)}
    </p>
  );
}
