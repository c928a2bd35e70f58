/** What differs between before and after, field by field, as text. */
type Fields = Readonly<Record<string, unknown>> | null;

/** Said elsewhere in the entry, or of no use to a reader. */
const unshown: ReadonlySet<string> = new Set(['id', 'accountId', 'sessionId', 'origin', 'entry', 'reason']);

export function Changes({ before, after }: { readonly before: Fields; readonly after: Fields }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const changed = names.filter(
    name =>
      !unshown.has(name) &&
      JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]) &&
      !(isNothing(before?.[name]) && isNothing(after?.[name])),
  );
  if (changed.length === 0) return null;
  return (
    <ul class="changes">
      {changed.map(name => (
        <li key={name}>
          <span class="quiet">{name}</span>
          {before !== null && name in before && <del>{shown(before[name])}</del>}
          {after !== null && name in after && <ins>{shown(after[name])}</ins>}
        </li>
      ))}
    </ul>
  );
}

const isNothing = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);

function shown(value: unknown): string {
  if (isNothing(value)) return '–';
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return value.map(shown).join(', ');
  return Object.values(value as Record<string, unknown>)
    .map(shown)
    .join(' · ');
}
