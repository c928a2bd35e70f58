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
import { LivePanel, notYetCounted, useLive } from '../stats/live.tsx';
import { StatsView, useStats } from '../stats/stats-view.tsx';
import { Button, Icon, IconButton, LinkButton } from '../ui/button.tsx';
import { Loaded, PageHeader, Skeleton } from '../ui/page.tsx';
import { CopyButton, copyWithToast } from '../ui/toast.tsx';
import { LinkHistory } from './history.tsx';

export function LinkPage({ code }: { readonly code: string }) {
  const link = useResource(code, signal => readLink(code, signal));
  const { replace } = link;
  // The page shows every change of the link, wherever it was made.
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
            {!canSwitch(link) && <AppealButton link={link} />}
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
