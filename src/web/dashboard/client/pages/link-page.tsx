/** One link: what it is, what can be done with it, and its numbers as they move. */
import { useEffect } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { clicksAddress, readLink } from '../api/links.ts';
import type { LinkView } from '../api/types.ts';
import { withoutScheme } from '../format.ts';
import { AppealButton, isHeld } from '../links/appeal.tsx';
import { canSwitch, switchLinks } from '../links/link-actions.ts';
import { LinkFacts } from '../links/link-facts.tsx';
import { LinkHistory } from '../links/link-history.tsx';
import { removeLinks } from '../links/remove.ts';
import { StatusBadge } from '../links/status-badge.tsx';
import { linkIndex } from '../state/link-index.ts';
import { openOverlay } from '../state/overlay.ts';
import { type Resource, useResource } from '../state/resource.ts';
import { goTo, hrefOf } from '../state/router.ts';
import { onKeys } from '../state/shortcuts.ts';
import { LivePanel } from '../stats/live-panel.tsx';
import { StatsView } from '../stats/stats-view.tsx';
import { notYetCounted, useLive } from '../stats/use-live.ts';
import { useStats } from '../stats/use-stats.ts';
import { Button, IconButton, LinkButton } from '../ui/button.tsx';
import { CopyButton, copyWithToast } from '../ui/copy.tsx';
import { Icon } from '../ui/icon.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { Loaded, Skeleton } from '../ui/states.tsx';

export function LinkPage({ code }: { readonly code: string }) {
  const link = useResource(code, signal => readLink(code, signal));
  const { replace } = link;
  // Whoever changes the link, from wherever: the page shows it.
  useEffect(
    () =>
      linkIndex.subscribe(({ links }) => {
        const known = links.find(({ shortCode }) => shortCode === code);
        if (known !== undefined) replace(known);
      }),
    [code, replace],
  );
  return (
    <>
      <a class="back-link" href={hrefOf('/links')}>
        <Icon name="left" size={16} />
        {texts.links.title}
      </a>
      <Loaded
        resource={link}
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
  const stats = useStats({ code: link.shortCode });
  const live = useLive(link.shortCode, () => {
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
  const shown = stats.value?.stats;
  return (
    <>
      <div class="link-heading">
        <PageHeader title={withoutScheme(link.shortUrl)}>
          <CopyButton text={link.shortUrl} label={texts.links.copy(link.shortCode)} />
          <Button icon="edit" onClick={edit}>
            {texts.actions.edit}
          </Button>
          <Button icon="qr" onClick={() => openOverlay({ kind: 'qr', link })}>
            {texts.actions.qr}
          </Button>
          {canSwitch(link) && (
            <Button icon="power" onClick={() => void switchIt()}>
              {isOn ? texts.actions.disable : texts.actions.enable}
            </Button>
          )}
          <IconButton class="danger" label={texts.actions.delete} icon="trash" onClick={remove} />
        </PageHeader>
        {link.status !== 'active' && (
          <p class="link-state">
            <StatusBadge status={link.status} /> {texts.statusTexts[link.status]}{' '}
            {isHeld(link) && <AppealButton link={link} />}
          </p>
        )}
        <LinkFacts link={link} />
      </div>
      <StatsView
        resource={stats}
        arrivingSince={askedAtMs => notYetCounted(live, askedAtMs)}
        toolbar={
          shown !== undefined && (
            <LinkButton icon="download" href={clicksAddress(link.shortCode, shown.from, shown.to)} download>
              {texts.stats.exportCsv}
            </LinkButton>
          )
        }
      >
        <LivePanel live={live} />
      </StatsView>
      <LinkHistory link={link} />
    </>
  );
}
