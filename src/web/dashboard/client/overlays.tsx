/** The one dialog that is open, if any: a link's, the shortcuts, the menu of a phone, the command palette. */
import { useEffect, useId, useMemo, useState } from 'preact/hooks';
import { browserClock } from '../../../base/clock.ts';
import { texts } from '../texts.ts';
import type { Role } from './api/types.ts';
import { isWebAddress, withoutScheme } from './format.ts';
import { destinationsFor, leave } from './frame.tsx';
import { findLinks } from './links/find.ts';
import { ImportDialog } from './links/import-dialog.tsx';
import { CreateDialog, EditDialog } from './links/link-dialogs.tsx';
import { useOlderLinks } from './links/older-links.ts';
import { QrDialog } from './links/qr-dialog.tsx';
import { ShareDialog } from './links/share-dialog.tsx';
import { chooseTheme, commandKey, type ThemeChoice, useThemeChoice } from './site.ts';
import { ensureLinks, linkIndex } from './state/links.ts';
import { closeOverlay, goTo, hrefOf, openOverlay, overlay } from './state/router.ts';
import { useStore } from './state/store.ts';
import { Button, Icon, type IconName, Key } from './ui/button.tsx';
import { Dialog } from './ui/dialog.tsx';
import { Segments } from './ui/field.tsx';
import { LanguageSegments, ShortcutSwitch } from './ui/page.tsx';

export function Overlays({ role }: { readonly role: Role }) {
  const open = useStore(overlay);
  switch (open.kind) {
    case 'create':
      // A new number is a new dialog: text typed into the last one must not stay.
      return <CreateDialog key={open.number} longUrl={open.longUrl} like={open.like} />;
    case 'import':
      return <ImportDialog key={open.number} text={open.text ?? ''} />;
    case 'share':
      return <ShareDialog link={open.link} />;
    case 'edit':
      return <EditDialog link={open.link} onSaved={open.onSaved} />;
    case 'qr':
      return <QrDialog link={open.link} />;
    case 'palette':
      return <Palette role={role} />;
    case 'help':
      return <HelpDialog role={role} />;
    case 'more':
      return <MoreDialog role={role} />;
    case 'none':
      return null;
  }
}

/** Every shortcut on one sheet. */
function HelpDialog({ role }: { readonly role: Role }) {
  const places = destinationsFor(role).flatMap(({ destinations }) => destinations);
  const groups: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
    [texts.help.anywhere, texts.help.anywhereKeys],
    [texts.help.goTo, places.map(({ key, label }) => [`g ${key}`, label] as const)],
    [texts.help.list, texts.help.listKeys],
    [texts.help.link, texts.help.linkKeys],
    ...(role === 'member' ? [] : [[texts.help.queue, texts.help.queueKeys] as const]),
  ];
  return (
    <Dialog title={texts.help.title} size="large" onClose={closeOverlay}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard has to be able to scroll it. */}
      <section class="help" tabIndex={0} aria-label={texts.help.title}>
        {groups.map(([name, rows]) => (
          <section key={name}>
            <h3>{name}</h3>
            <dl>
              {rows.map(([keys, what]) => (
                <div key={keys}>
                  <dt>
                    {keys.split(' ').map(key => (
                      <Key key={key}>{key.replace('⌘', commandKey)}</Key>
                    ))}
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </section>
      <ShortcutSwitch />
    </Dialog>
  );
}

const choices: readonly ThemeChoice[] = ['system', 'light', 'dark'];

/** On a phone: the pages without a tab at the bottom, the theme, and signing out. */
function MoreDialog({ role }: { readonly role: Role }) {
  const places = destinationsFor(role).flatMap(({ destinations }) => destinations);
  return (
    <Dialog title={texts.nav.more} size="small" onClose={closeOverlay}>
      <div class="more">
        {places.map(({ path, label, icon }) => (
          <a key={path} class="nav-link" href={hrefOf(path)} onClick={closeOverlay}>
            <Icon name={icon} />
            {label}
          </a>
        ))}
        <Segments
          label={texts.nav.theme}
          value={useThemeChoice()}
          choices={choices.map(value => ({ value, label: texts.themeNames[value] }))}
          onValue={choice => {
            chooseTheme(choice);
            closeOverlay();
          }}
        />
        <LanguageSegments />
        <Button
          icon="out"
          onClick={() => {
            closeOverlay();
            void leave();
          }}
        >
          {texts.nav.signOut}
        </Button>
      </div>
    </Dialog>
  );
}

interface Command {
  readonly id: string;
  readonly label: string;
  readonly note?: string;
  readonly icon: IconName;
  readonly run: () => void;
}

const linksShownMax = 8;
const typingMs = 200;

/** The command palette: type to find a link, a page or an action; arrows and Enter do the rest. */
function Palette({ role }: { readonly role: Role }) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const index = useStore(linkIndex);
  const [asked, setAsked] = useState('');
  useEffect(() => browserClock.after(typingMs, () => setAsked(typed)), [typed]);
  const { links, isAsking } = useOlderLinks(index, { search: asked, status: undefined, tag: undefined });
  const isLooking = isAsking || index.state === 'loading';
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
  useEffect(
    () => document.getElementById(`${listId}-${at}`)?.scrollIntoView({ block: 'nearest' }),
    [listId, at, shown],
  );

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
        {shown.length === 0 && (
          <p class="quiet palette-none" role="status">
            {isLooking ? texts.loading : texts.palette.none}
          </p>
        )}
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
    {
      id: 'import',
      label: texts.importing.openLong,
      icon: 'upload',
      run: () => openOverlay({ kind: 'import' }),
    },
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
