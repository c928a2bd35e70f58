/** Tags as chips: Enter or a comma adds what was typed, Backspace takes the last one back. */
import { useMemo, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { linkIndex } from '../state/link-index.ts';
import { useStore } from '../state/store.ts';
import { Field } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { tagsOf } from './find.ts';

const tagsMax = 20;
const suggestionsMax = 6;

export function TagsField({
  tags,
  onTags,
}: {
  readonly tags: readonly string[];
  readonly onTags: (tags: readonly string[]) => void;
}) {
  const [typed, setTyped] = useState('');
  const { links } = useStore(linkIndex);
  const known = useMemo(() => tagsOf(links).map(([tag]) => tag), [links]);
  const suggestions = known
    .filter(tag => !tags.includes(tag) && tag.toLowerCase().includes(typed.toLowerCase()))
    .slice(0, suggestionsMax);
  const add = (text: string): void => {
    const tag = text.trim();
    setTyped('');
    if (tag !== '' && !tags.includes(tag) && tags.length < tagsMax) onTags([...tags, tag]);
  };
  return (
    <Field label={texts.form.tags} help={suggestions.length > 0 ? undefined : texts.form.tagsHelp}>
      {ids => (
        <>
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
              onInput={event => setTyped(event.currentTarget.value)}
              onBlur={() => add(typed)}
              onKeyDown={event => {
                if ((event.key === 'Enter' || event.key === ',') && typed.trim() !== '') {
                  event.preventDefault();
                  add(typed);
                } else if (event.key === 'Backspace' && typed === '') onTags(tags.slice(0, -1));
              }}
            />
          </div>
          {suggestions.length > 0 && (
            <p class="tag-suggestions">
              {suggestions.map(tag => (
                <button key={tag} type="button" class="tag" onClick={() => add(tag)}>
                  <Icon name="plus" size={12} />
                  {tag}
                </button>
              ))}
            </p>
          )}
        </>
      )}
    </Field>
  );
}
