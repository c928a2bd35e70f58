/** Labelled inputs. Help and complaint are tied to the input, so that a screen reader says them. */
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly help?: ComponentChildren;
  readonly problem?: string | undefined;
  /** Right of the label: a counter, a state. */
  readonly aside?: ComponentChildren;
}

export interface FieldIds {
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
  readonly type?: 'text' | 'url' | 'email' | 'password' | 'number' | 'datetime-local';
  readonly name?: string;
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly maxLength?: number;
  readonly min?: number;
  readonly required?: boolean;
  readonly disabled?: boolean;
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

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
}

export function SelectField<Value extends string>({
  label,
  help,
  value,
  choices,
  onValue,
}: FieldProps & {
  readonly value: Value;
  readonly choices: readonly Choice<Value>[];
  readonly onValue: (value: Value) => void;
}) {
  return (
    <Field label={label} help={help}>
      {ids => (
        <select
          {...ids}
          class="input select"
          value={value}
          onChange={event => onValue(event.currentTarget.value as Value)}
        >
          {choices.map(choice => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
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

/** A few choices side by side, of which one holds. */
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
          aria-pressed={choice.value === value}
          onClick={() => onValue(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </fieldset>
  );
}
