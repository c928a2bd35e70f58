/** The ending of the short link, told while typing whether it can be had. The claim itself is made by creating. */
import { useEffect, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { checkAlias } from '../api/links.ts';
import { withoutScheme } from '../format.ts';
import { baseUrl } from '../site.ts';
import { TextField } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';

type Availability =
  | { readonly kind: 'unasked' | 'asking' | 'free' }
  | { readonly kind: 'taken'; readonly reason: string };

const aliasShape = /^[0-9A-Za-z_-]{1,64}$/;
/** Not after every letter. */
const pauseMs = 220;

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
        ({ available, reason }) =>
          setAvailability(
            available ? { kind: 'free' } : { kind: 'taken', reason: reason ?? texts.form.availability.taken },
          ),
        // Not knowing is no obstacle: creating says it in any case.
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
