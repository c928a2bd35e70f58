/** One link: its facts, its actions, and its live statistics. */
import { useEffect } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { clicksAddress, readLink } from '../api/calls.ts';
import type { LinkView } from '../api/types.ts';
import { withoutScheme } from '../format.ts';
import { canSwitch, removeLinks, switchLinks } from '../links/link-actions.ts';
import { AppealButton, LinkFacts, StatusBadge } from '../links/link-details.tsx';
import { type Resource, useResource } from '../state/connection.ts';
import { linkIndex } from '../state/links.ts';
import { goTo, hrefOf, onKeys, openOverlay } from '../state/router.ts';
import { ClickLog } from '../stats/click-log.tsx';
import { filterQuery } from '../stats/filters.ts';
import { LivePanel, notYetCounted, useLive } from '../stats/live.tsx';
import { StatsView } from '../stats/stats-view.tsx';
import { type ShownStats, useStats } from '../stats/use-stats.ts';
import { Button, Icon, LinkButton } from '../ui/button.tsx';
import { CopyTextButton, copyWithToast } from '../ui/copy.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { Empty, Loaded, PageHeader, Skeleton } from '../ui/page.tsx';
import { LinkHistory } from './history.tsx';

export function LinkPage({ code }: { readonly code: string }) {
  const link = useResource(code, signal => readLink(code, signal));
  const { replace } = link;
  // Takes over changes made elsewhere in the dashboard, but not the list's copy from before, which may be older.
  useEffect(() => {
    const inList = (): LinkView | undefined =>
      linkIndex.get().links.find(({ shortCode }) => shortCode === code);
    let known = inList();
    return linkIndex.subscribe(() => {
      const next = inList();
      if (next !== undefined && next !== known) replace(next);
      known = next;
    });
  }, [code, replace]);
  return (
    <>
      <a class="back-link" href={hrefOf('/links')}>
        <Icon name="left" size={16} />
        {texts.links.title}
      </a>
      <Loaded
        resource={link}
        missing={
          <>
            <PageHeader title={texts.missing.link} />
            <Empty icon="search" title={texts.missing.title} text={texts.missing.linkText(code)}>
              <LinkButton href={hrefOf('/links')}>{texts.missing.allLinks}</LinkButton>
            </Empty>
          </>
        }
        skeleton={
          <>
            <PageHeader title={code} />
            <Skeleton lines={6} tall />
          </>
        }
      >
        {shown => <ShownLink link={shown} resource={link} />}
      </Loaded>
    </>
  );
}

function ShownLink({ link, resource }: { readonly link: LinkView; readonly resource: Resource<LinkView> }) {
  const stats = useStats({ code: link.shortCode, createdMs: Date.parse(link.createdAt) });
  const { filters, timeZone } = stats.choice;
  const live = useLive(link.shortCode, filters, () => {
    stats.reload();
    if (link.maxClicks !== null) resource.reload();
  });
  const edit = (): void => openOverlay({ kind: 'edit', link, onSaved: resource.replace });
  const remove = (): void => {
    goTo('/links');
    void removeLinks([link]);
  };
  const isOn = link.status !== 'disabled';
  const switchIt = async (): Promise<void> => {
    const [changed] = await switchLinks([link], isOn ? 'disabled' : 'active');
    if (changed !== undefined) resource.replace(changed);
  };
  useEffect(() =>
    onKeys({
      e: edit,
      q: () => openOverlay({ kind: 'qr', link }),
      y: () => void copyWithToast(link.shortUrl),
      d: () => {
        if (canSwitch(link)) void switchIt();
      },
    }),
  );
  const more: MenuItem[] = [
    {
      label: texts.manage.duplicate,
      icon: 'duplicate',
      onSelect: () => openOverlay({ kind: 'create', longUrl: '', like: link }),
    },
    ...(canSwitch(link)
      ? [
          {
            label: isOn ? texts.actions.disable : texts.actions.enable,
            icon: 'power' as const,
            onSelect: () => void switchIt(),
          },
        ]
      : []),
    { label: texts.actions.delete, icon: 'trash', isDangerous: true, onSelect: remove },
  ];
  return (
    <>
      <div class="link-heading">
        <PageHeader title={withoutScheme(link.shortUrl)}>
          <CopyTextButton text={link.shortUrl} label={texts.actions.copyLink} />
          <Button icon="edit" onClick={edit}>
            {texts.actions.edit}
          </Button>
          <Button icon="qr" onClick={() => openOverlay({ kind: 'qr', link })}>
            {texts.actions.qr}
          </Button>
          <Button icon="globe" onClick={() => openOverlay({ kind: 'share', link })}>
            {texts.manage.share}
          </Button>
          <Menu label={texts.manage.moreActions} class="icon-button icon-button-framed" items={more}>
            <Icon name="more" />
          </Menu>
        </PageHeader>
        {link.status !== 'active' && (
          <p class="link-state">
            <StatusBadge status={link.status} /> {texts.statusTexts[link.status]}{' '}
            {!canSwitch(link) && <AppealButton link={link} />}
          </p>
        )}
        <LinkFacts link={link} />
      </div>
      <StatsView
        resource={stats}
        arrivingSince={askedAtMs => notYetCounted(live, askedAtMs)}
        toolbar={
          stats.value !== undefined && (
            <LinkButton icon="download" href={exportAddress(link.shortCode, stats.value)} download>
              {texts.stats.exportCsv}
            </LinkButton>
          )
        }
      >
        <div class="live-and-log">
          <LivePanel live={live} isFiltered={filters.length > 0} timeZone={timeZone} />
          {stats.value !== undefined && <ClickLog shown={stats.value} />}
        </div>
      </StatsView>
      <LinkHistory link={link} />
    </>
  );
}

const exportAddress = (code: string, { stats: { from, to }, choice: { filters } }: ShownStats): string =>
  clicksAddress(code, { from, to, ...filterQuery(filters) });
