import type { Choice } from './field.tsx';

/** A choice in a toolbar; its label is for those who do not see where it stands. */
export function Select<Value extends string>({
  label,
  value,
  choices,
  onValue,
}: {
  readonly label: string;
  readonly value: Value;
  readonly choices: readonly Choice<Value>[];
  readonly onValue: (value: Value) => void;
}) {
  return (
    <select
      class="input select"
      aria-label={label}
      value={value}
      onChange={event => onValue(event.currentTarget.value as Value)}
    >
      {choices.map(choice => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}
