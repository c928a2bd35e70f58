/** On a phone: the pages that have no place at the bottom, the theme, and signing out. */
import { texts } from '../texts.ts';
import type { Role } from './api/types.ts';
import { destinationsFor } from './destinations.ts';
import { leave } from './leave.ts';
import { closeOverlay } from './state/overlay.ts';
import { hrefOf } from './state/router.ts';
import { chooseTheme, type ThemeChoice, themeChoice } from './state/theme-choice.ts';
import { Button } from './ui/button.tsx';
import { Dialog } from './ui/dialog.tsx';
import { Segments } from './ui/field.tsx';
import { Icon } from './ui/icon.tsx';

const choices: readonly ThemeChoice[] = ['system', 'light', 'dark'];

export function MoreDialog({ role }: { readonly role: Role }) {
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
          value={themeChoice()}
          choices={choices.map(value => ({ value, label: texts.themeNames[value] }))}
          onValue={choice => {
            chooseTheme(choice);
            closeOverlay();
          }}
        />
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
