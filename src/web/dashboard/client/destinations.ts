/** The pages of the dashboard and who sees them. The server decides what is allowed; this decides what is offered. */
import { texts } from '../texts.ts';
import type { Role } from './api/types.ts';
import type { IconName } from './ui/icon.tsx';

export interface Destination {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  /** Second key after `g`. */
  readonly key: string;
  /** Among the few at the bottom of a phone. */
  readonly isTab?: boolean;
}

interface Group {
  readonly name: string;
  readonly destinations: readonly Destination[];
}

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

/** A link's page belongs to the links; otherwise a place is only itself. */
export function isAt(path: string, destination: string): boolean {
  return path === destination || (destination === '/links' && path.startsWith('/links/'));
}
