/** The inputs of a link that are more than a text field: alias, tags, campaign parameters. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import { checkAlias } from '../api/calls.ts';
import { messageOfProblem } from '../api/request.ts';
import { isWebAddress, withoutScheme, withScheme } from '../format.ts';
import { baseUrl } from '../site.ts';
import { linkIndex } from '../state/links.ts';
import { useStore } from '../state/store.ts';
import { Icon } from '../ui/button.tsx';
import { Field, TextField } from '../ui/field.tsx';
import { tagsOf } from './find.ts';
import { aliasShape, readUtm, utmNames, withUtm } from './link-form.ts';

type Availability =
  | { readonly kind: 'unasked' | 'asking' | 'free' }
  | { readonly kind: 'taken'; readonly reason: string };

/** Debounce, so that not every letter sends a request. */
const pauseMs = 220;

/** Checks availability while the user types; only creating the link claims the alias. */
export function AliasField({
  alias,
  onAlias,
  problem,
}: {
  readonly alias: string;
  readonly onAlias: (alias: string) => void;
  readonly problem: string | undefined;
}) {
  const availability = useAvailability(alias);
  return (
    <TextField
      label={texts.form.alias}
      prefix={`${withoutScheme(baseUrl)}/`}
      value={alias}
      onText={onAlias}
      placeholder={texts.form.aliasHint}
      maxLength={64}
      autocomplete="off"
      autocapitalize="none"
      spellcheck={false}
      problem={problem ?? (availability.kind === 'taken' ? availability.reason : undefined)}
      aside={<AvailabilityNote availability={availability} />}
    />
  );
}

function AvailabilityNote({ availability: { kind } }: { readonly availability: Availability }) {
  return (
    <span role="status" class={`availability availability-${kind}`}>
      {kind === 'asking' && <span class="spinner" />}
      {kind === 'free' && <Icon name="check" size={14} />}
      {kind === 'unasked' || kind === 'taken' ? '' : texts.form.availability[kind]}
    </span>
  );
}

function useAvailability(alias: string): Availability {
  const [availability, setAvailability] = useState<Availability>({ kind: 'unasked' });
  useEffect(() => {
    const asked = alias.trim();
    if (asked === '') return setAvailability({ kind: 'unasked' });
    if (!aliasShape.test(asked)) return setAvailability({ kind: 'taken', reason: texts.form.aliasShape });
    const abort = new AbortController();
    setAvailability({ kind: 'asking' });
    const cancel = browserClock.after(pauseMs, () => {
      checkAlias(asked, abort.signal).then(
        ({ available, code, reason }) =>
          setAvailability(
            available
              ? { kind: 'free' }
              : {
                  kind: 'taken',
                  reason: messageOfProblem({ code, detail: reason, title: texts.form.availability.taken }),
                },
          ),
        // A failed check is no obstacle: creating the link checks in any case.
        () => setAvailability({ kind: 'unasked' }),
      );
    });
    return () => {
      cancel();
      abort.abort();
    };
  }, [alias]);
  return availability;
}

const tagsMax = 20;
const suggestionsMax = 6;

/** Tags as chips: Enter or a comma adds the typed tag, Backspace removes the last one. */
export function TagsField({
  label = texts.fields.tags,
  tags,
  onTags,
  problem,
}: {
  readonly label?: string;
  readonly tags: readonly string[];
  readonly onTags: (tags: readonly string[]) => void;
  readonly problem?: string | undefined;
}) {
  const [typed, setTyped] = useState('');
  const { links } = useStore(linkIndex);
  const known = useMemo(() => tagsOf(links).map(([tag]) => tag), [links]);
  const suggestions = known
    .filter(tag => !tags.includes(tag) && tag.toLowerCase().includes(typed.toLowerCase()))
    .slice(0, suggestionsMax);
  const add = (text: string): void => {
    const more = text.split(',').map(tag => tag.trim());
    const all = new Set([...tags, ...more.filter(tag => tag !== '')]);
    setTyped('');
    if (all.size > tags.length) onTags([...all].slice(0, tagsMax));
  };
  return (
    <Field label={label} help={suggestions.length > 0 ? undefined : texts.form.tagsHelp} problem={problem}>
      {ids => (
        <div
          class="contents"
          onFocusOut={event => {
            // Not when the focus moves to a suggestion, which will replace the typed text.
            if (!event.currentTarget.contains(event.relatedTarget as Node | null)) add(typed);
          }}
        >
          <div class="input tags-input">
            {tags.map(tag => (
              <span key={tag} class="tag">
                {tag}
                <button
                  type="button"
                  aria-label={texts.form.removeTag(tag)}
                  onClick={() => onTags(tags.filter(other => other !== tag))}
                >
                  <Icon name="close" size={12} />
                </button>
              </span>
            ))}
            <input
              {...ids}
              value={typed}
              maxLength={50}
              autocomplete="off"
              placeholder={tags.length === 0 ? texts.form.tagsHint : ''}
              onInput={event => {
                const { value } = event.currentTarget;
                if (value.includes(',')) add(value);
                else setTyped(value);
              }}
              onKeyDown={event => {
                if (event.key === 'Enter' && typed.trim() !== '') {
                  event.preventDefault();
                  add(typed);
                } else if (event.key === 'Backspace' && typed === '') onTags(tags.slice(0, -1));
              }}
            />
          </div>
          {suggestions.length > 0 && (
            <p class="tag-suggestions">
              {suggestions.map(tag => (
                <button
                  key={tag}
                  type="button"
                  class="tag"
                  // Some browsers do not focus a button that is clicked, and the field would lose the focus to nothing.
                  onMouseDown={event => event.preventDefault()}
                  onClick={() => add(tag)}
                >
                  <Icon name="plus" size={12} />
                  {tag}
                </button>
              ))}
            </p>
          )}
        </div>
      )}
    </Field>
  );
}

/** The campaign builder: five small fields that write into the destination's query. */
export function UtmFields({
  longUrl,
  onLongUrl,
}: {
  readonly longUrl: string;
  readonly onLongUrl: (longUrl: string) => void;
}) {
  const utm = readUtm(withScheme(longUrl));
  const isAddress = isWebAddress(withScheme(longUrl));
  return (
    <div class="utm">
      {utmNames.map(name => (
        <TextField
          key={name}
          label={texts.form.utmNames[name]}
          value={utm[name]}
          placeholder={texts.form.utmHints[name]}
          autocomplete="off"
          disabled={!isAddress}
          onText={value => onLongUrl(withUtm(withScheme(longUrl), name, value))}
        />
      ))}
      <p class="field-help">{isAddress ? texts.form.utmHelp : texts.form.utmNeedsAddress}</p>
    </div>
  );
}
