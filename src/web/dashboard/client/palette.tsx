/** The command palette: type to find a link, a page or an action; arrows and Enter do the rest. */
import { useEffect, useId, useMemo, useState } from 'preact/hooks';
import { texts } from '../texts.ts';
import type { Role } from './api/types.ts';
import { destinationsFor } from './destinations.ts';
import { isWebAddress, withoutScheme } from './format.ts';
import { leave } from './leave.ts';
import { findLinks } from './links/find.ts';
import { ensureLinks, linkIndex } from './state/link-index.ts';
import { closeOverlay, openOverlay } from './state/overlay.ts';
import { goTo } from './state/router.ts';
import { useStore } from './state/store.ts';
import { chooseTheme } from './state/theme-choice.ts';
import { Dialog } from './ui/dialog.tsx';
import { Icon, type IconName } from './ui/icon.tsx';

interface Command {
  readonly id: string;
  readonly label: string;
  readonly note?: string;
  readonly icon: IconName;
  readonly run: () => void;
}

const linksShownMax = 8;

export function Palette({ role }: { readonly role: Role }) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const { links } = useStore(linkIndex);
  const listId = useId();
  useEffect(ensureLinks, []);
  const commands = useMemo(() => commandsFor(role), [role]);
  const shown = useMemo(() => {
    const wanted = typed.trim().toLowerCase();
    if (isWebAddress(typed)) return [createCommand(typed.trim())];
    const actions = commands.filter(({ label }) => label.toLowerCase().includes(wanted));
    if (wanted === '') return actions;
    const found = findLinks(
      links,
      { search: wanted, status: undefined, tag: undefined, sort: 'newest' },
      () => 0,
    );
    return [
      ...found.slice(0, linksShownMax).map(link => ({
        id: `link ${link.shortCode}`,
        label: withoutScheme(link.shortUrl),
        note: link.title ?? withoutScheme(link.longUrl),
        icon: 'link' as const,
        run: () => goTo(`/links/${link.shortCode}`),
      })),
      ...actions,
    ];
  }, [typed, commands, links]);
  const at = Math.min(chosen, shown.length - 1);

  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    closeOverlay();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setChosen((at + step + shown.length) % Math.max(1, shown.length));
    else if (event.key === 'Enter') run(shown[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={texts.palette.title} onClose={closeOverlay}>
      <div class="palette">
        <div class="search-box">
          <Icon name="search" />
          <input
            class="input"
            role="combobox"
            aria-expanded="true"
            aria-controls={listId}
            aria-activedescendant={shown[at] === undefined ? undefined : `${listId}-${at}`}
            aria-label={texts.palette.hint}
            placeholder={texts.palette.hint}
            value={typed}
            data-autofocus
            onInput={event => {
              setTyped(event.currentTarget.value);
              setChosen(0);
            }}
            onKeyDown={onKeyDown}
          />
        </div>
        <div id={listId} role="listbox" aria-label={texts.palette.title} class="palette-list">
          {shown.map((command, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the combobox, which owns this list.
            // biome-ignore lint/a11y/useFocusableInteractive: the combobox keeps the focus and names the option.
            <div
              key={command.id}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === at}
              class="palette-item"
              onPointerMove={() => setChosen(index)}
              onClick={() => run(command)}
            >
              <Icon name={command.icon} />
              <span>{command.label}</span>
              {command.note !== undefined && <bdi class="quiet">{command.note}</bdi>}
            </div>
          ))}
        </div>
        {shown.length === 0 && <p class="quiet palette-none">{texts.palette.none}</p>}
      </div>
    </Dialog>
  );
}

function createCommand(longUrl: string): Command {
  return {
    id: 'create',
    label: longUrl === '' ? texts.actions.create : texts.palette.shorten,
    ...(longUrl !== '' && { note: longUrl }),
    icon: 'plus',
    run: () => openOverlay({ kind: 'create', longUrl }),
  };
}

function commandsFor(role: Role): readonly Command[] {
  const places = destinationsFor(role).flatMap(({ destinations }) => destinations);
  return [
    createCommand(''),
    ...places.map(({ path, label, icon }) => ({
      id: `page ${path}`,
      label: texts.palette.goTo(label),
      icon,
      run: () => goTo(path),
    })),
    { id: 'light', label: texts.themes.light, icon: 'sun', run: () => chooseTheme('light') },
    { id: 'dark', label: texts.themes.dark, icon: 'moon', run: () => chooseTheme('dark') },
    { id: 'system', label: texts.themes.system, icon: 'screen', run: () => chooseTheme('system') },
    { id: 'help', label: texts.nav.shortcuts, icon: 'keyboard', run: () => openOverlay({ kind: 'help' }) },
    { id: 'docs', label: texts.palette.docs, icon: 'external', run: () => location.assign('/docs') },
    { id: 'out', label: texts.nav.signOut, icon: 'out', run: () => void leave() },
  ];
}
