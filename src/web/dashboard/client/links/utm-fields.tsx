/** The campaign builder: five small fields that write into the destination's query. */
import { texts } from '../../texts.ts';
import { withScheme } from '../format.ts';
import { TextField } from '../ui/field.tsx';
import { readUtm, utmNames, withUtm } from './utm.ts';

export function UtmFields({
  longUrl,
  onLongUrl,
}: {
  readonly longUrl: string;
  readonly onLongUrl: (longUrl: string) => void;
}) {
  const utm = readUtm(withScheme(longUrl));
  return (
    <div class="utm">
      {utmNames.map(name => (
        <TextField
          key={name}
          label={texts.form.utmNames[name]}
          value={utm[name]}
          placeholder={texts.form.utmHints[name]}
          autocomplete="off"
          onText={value => onLongUrl(withUtm(withScheme(longUrl), name, value))}
        />
      ))}
      <p class="field-help">{texts.form.utmHelp}</p>
    </div>
  );
}
