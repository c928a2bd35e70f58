/** The frame of every page: navigation and the signed-in account. */
import type { ComponentChildren } from 'preact';
import { texts } from '../texts.ts';
import { signOut } from './api/calls.ts';
import { ApiProblem } from './api/request.ts';
import type { AccountView, Role } from './api/types.ts';
import { chooseLanguage, language, languageNames, languages } from './language.ts';
import { finishRemovals } from './links/link-actions.ts';
import { chooseTheme, commandKey, useThemeChoice } from './site.ts';
import { goTo, hrefOf, openOverlay, usePlace } from './state/router.ts';
import { noteSignedOut } from './state/session.ts';
import { Button, Icon, IconButton, type IconName, Key, Wordmark } from './ui/button.tsx';
import { Menu } from './ui/menu.tsx';
import { ConnectionBanner } from './ui/page.tsx';
import { showProblem } from './ui/toast.tsx';

const openCreate = (): void => openOverlay({ kind: 'create', longUrl: '' });
const openPalette = (): void => openOverlay({ kind: 'palette' });

export function Frame({
  account,
  children,
}: {
  readonly account: AccountView;
  readonly children: ComponentChildren;
}) {
  const groups = destinationsFor(account.role);
  const tabs = groups.flatMap(({ destinations }) => destinations).filter(({ isTab }) => isTab);
  return (
    <div class="frame">
      <a class="skip-link" href="#content">
        {texts.nav.skip}
      </a>
      <header class="sidebar">
        <a class="brand" href={hrefOf('/')} aria-label={texts.nav.home}>
          <Wordmark />
        </a>
        <Button kind="primary" class="sidebar-create" icon="plus" onClick={openCreate}>
          {texts.actions.create} <Key>C</Key>
        </Button>
        <button type="button" class="sidebar-search" onClick={openPalette}>
          <Icon name="search" size={16} />
          <span>{texts.palette.open}</span>
          <Key>{`${commandKey} K`}</Key>
        </button>
        <nav aria-label={texts.nav.label}>
          {groups.map(({ name, destinations }) => (
            <div key={name} class="nav-group">
              {name !== '' && <h2>{name}</h2>}
              {destinations.map(destination => (
                <NavLink key={destination.path} destination={destination} />
              ))}
            </div>
          ))}
        </nav>
        <AccountMenu account={account} />
      </header>
      <header class="topbar">
        <a class="brand" href={hrefOf('/')} aria-label={texts.nav.home}>
          <Wordmark />
        </a>
        <span class="spacer" />
        <IconButton label={texts.palette.open} icon="search" onClick={openPalette} />
        <IconButton label={texts.actions.create} icon="plus" onClick={openCreate} />
      </header>
      <div class="page-column">
        <ConnectionBanner />
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
      <nav class="tabbar" aria-label={texts.nav.label}>
        {tabs.map(destination => (
          <NavLink key={destination.path} destination={destination} />
        ))}
        <button type="button" class="nav-link" onClick={() => openOverlay({ kind: 'more' })}>
          <Icon name="more" size={20} />
          {texts.nav.more}
        </button>
      </nav>
    </div>
  );
}

function NavLink({ destination: { path, label, icon } }: { readonly destination: Destination }) {
  const place = usePlace();
  return (
    <a class="nav-link" href={hrefOf(path)} aria-current={isAt(place.path, path) ? 'page' : undefined}>
      <Icon name={icon} />
      {label}
    </a>
  );
}

function AccountMenu({ account }: { readonly account: AccountView }) {
  const themes = { system: 'screen', light: 'sun', dark: 'moon' } as const;
  const current = useThemeChoice();
  return (
    <Menu
      label={texts.nav.accountMenu}
      class="account-button"
      opensUp
      isNamed
      items={[
        { label: texts.nav.account, icon: 'user', onSelect: () => goTo('/account') },
        { label: texts.nav.shortcuts, icon: 'keyboard', onSelect: () => openOverlay({ kind: 'help' }) },
        ...(['system', 'light', 'dark'] as const)
          .filter(choice => choice !== current)
          .map(choice => ({
            label: texts.themes[choice],
            icon: themes[choice],
            onSelect: () => chooseTheme(choice),
          })),
        ...languageNames
          .filter(name => name !== language.get())
          .map(name => ({
            label: languages[name],
            icon: 'globe' as const,
            onSelect: () => void chooseLanguage(name).catch(showProblem),
          })),
        { label: texts.nav.signOut, icon: 'out', onSelect: () => void leave() },
      ]}
    >
      <span class="avatar" aria-hidden="true">
        {account.name.slice(0, 1).toUpperCase()}
      </span>
      <span class="account-name">
        {account.name}
        <span class="quiet">{texts.roles[account.role]}</span>
      </span>
      <Icon name="more" />
    </Menu>
  );
}

interface Destination {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  /** Second key after `g`. */
  readonly key: string;
  /** One of the few tabs at the bottom of a phone. */
  readonly isTab?: boolean;
}

interface Group {
  readonly name: string;
  readonly destinations: readonly Destination[];
}

/** The pages of the dashboard and who sees them. The server decides what is allowed; this decides what is offered. */
export function destinationsFor(role: Role): readonly Group[] {
  const groups: Group[] = [
    {
      name: '',
      destinations: [
        { path: '/', label: texts.overview.title, icon: 'home', key: 'o', isTab: true },
        { path: '/links', label: texts.links.title, icon: 'link', key: 'l', isTab: true },
      ],
    },
  ];
  if (role !== 'member') {
    groups.push({
      name: texts.nav.moderation,
      destinations: [
        { path: '/moderation', label: texts.queue.title, icon: 'inbox', key: 'm', isTab: true },
        { path: '/moderation/blocklists', label: texts.blocklists.title, icon: 'ban', key: 'b' },
        { path: '/moderation/audit', label: texts.audit.title, icon: 'history', key: 'h' },
      ],
    });
  }
  if (role === 'admin') {
    groups.push({
      name: texts.nav.operations,
      destinations: [
        { path: '/status', label: texts.operations.title, icon: 'pulse', key: 's' },
        { path: '/accounts', label: texts.accounts.title, icon: 'users', key: 'u' },
      ],
    });
  }
  groups.push({
    name: texts.nav.settings,
    destinations: [
      { path: '/keys', label: texts.keys.title, icon: 'key', key: 'k', isTab: role === 'member' },
      { path: '/account', label: texts.account.title, icon: 'user', key: 'a' },
    ],
  });
  return groups;
}

/** A link's page belongs to the links; any other page only to itself. */
function isAt(path: string, destination: string): boolean {
  return path === destination || (destination === '/links' && path.startsWith('/links/'));
}

/** Signs out, on the server and here. A session that has already ended is no error. */
export async function leave(): Promise<void> {
  try {
    await finishRemovals();
    await signOut();
  } catch (error) {
    if (!(error instanceof ApiProblem && error.status === 401)) return showProblem(error);
  }
  goTo('/');
  noteSignedOut();
}
