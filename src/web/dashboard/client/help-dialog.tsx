/** Every shortcut on one sheet. */
import { texts } from '../texts.ts';
import type { Role } from './api/types.ts';
import { destinationsFor } from './destinations.ts';
import { commandKey } from './site.ts';
import { closeOverlay } from './state/overlay.ts';
import { Key } from './ui/button.tsx';
import { Dialog } from './ui/dialog.tsx';

export function HelpDialog({ role }: { readonly role: Role }) {
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
      <div class="help">
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
      </div>
    </Dialog>
  );
}
