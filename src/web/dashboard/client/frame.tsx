/** What is around every page: the way to the other pages, news, and who is signed in. */
import type { ComponentChildren } from 'preact';
import { texts } from '../texts.ts';
import type { AccountView } from './api/types.ts';
import { type Destination, destinationsFor, isAt } from './destinations.ts';
import { leave } from './leave.ts';
import { commandKey } from './site.ts';
import { openOverlay } from './state/overlay.ts';
import { goTo, hrefOf, usePlace } from './state/router.ts';
import { chooseTheme, themeChoice } from './state/theme-choice.ts';
import { Button, IconButton, Key } from './ui/button.tsx';
import { ConnectionBanner } from './ui/connection-banner.tsx';
import { Icon, Wordmark } from './ui/icon.tsx';
import { Menu } from './ui/menu.tsx';

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
  const current = themeChoice();
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
