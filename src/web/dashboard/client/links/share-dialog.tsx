/** Shares a link's statistics: with everyone who has the address, or by an address that expires. */
import { useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import { editLink, shareStats } from '../api/calls.ts';
import type { LinkFields, LinkView, SharedStats } from '../api/types.ts';
import { formatMoment } from '../format.ts';
import { linkIndex, putLink } from '../state/links.ts';
import { closeOverlay, hrefOf } from '../state/router.ts';
import { useStore } from '../state/store.ts';
import { Button } from '../ui/button.tsx';
import { CopyTextButton } from '../ui/copy.tsx';
import { Dialog, secretQuestion } from '../ui/dialog.tsx';
import { SelectField, Switch, TextField } from '../ui/field.tsx';
import { showProblem, showToast } from '../ui/toast.tsx';

const lives = ['1', '7', '30', '90'] as const;
const dayMs = 24 * 60 * 60_000;

const addressOf = (code: string): string => location.origin + hrefOf(`/shared/${code}`);

export function ShareDialog({ link: given }: { readonly link: LinkView }) {
  const { links } = useStore(linkIndex);
  const [own, setOwn] = useState(given);
  const link = links.find(({ shortCode }) => shortCode === given.shortCode) ?? own;
  const [life, setLife] = useState<(typeof lives)[number]>('7');
  const [shared, setShared] = useState<SharedStats>();
  const [isBusy, setBusy] = useState(false);
  const code = link.shortCode;

  const during = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    await work().catch(showProblem);
    setBusy(false);
  };
  const take = (next: LinkView): void => {
    // The answer may not have the number of clicks.
    const changed = { ...next, clicks: next.clicks ?? link.clicks };
    setOwn(changed);
    putLink(changed);
  };
  const change = (fields: LinkFields): Promise<void> =>
    during(async () => take(await editLink(code, fields)));
  const share = (): Promise<void> =>
    during(async () => {
      const expiresAt = new Date(browserClock.now() + Number(life) * dayMs).toISOString();
      const answer = await shareStats(code, expiresAt);
      take(answer.link);
      setShared(answer);
    });
  const revoke = (): Promise<void> =>
    during(async () => {
      take(await editLink(code, { statsTokensFrom: null }));
      setShared(undefined);
      showToast(texts.sharing.revoked);
    });
  return (
    <Dialog
      title={texts.sharing.title}
      onClose={closeOverlay}
      question={shared === undefined ? undefined : secretQuestion()}
      isSecret={shared !== undefined}
    >
      <p class="quiet">{texts.sharing.text}</p>
      <Switch
        label={texts.sharing.public}
        help={texts.sharing.publicHelp}
        checked={link.publicStats}
        onChange={publicStats => void change({ publicStats })}
      />
      {link.publicStats && <Address label={texts.sharing.address} address={addressOf(code)} />}
      <section class="share-token" aria-label={texts.sharing.token}>
        <h3>{texts.sharing.token}</h3>
        <p class="field-help">{texts.sharing.tokenHelp}</p>
        <div class="share-make">
          <SelectField
            label={texts.sharing.life}
            value={life}
            choices={lives.map(value => ({ value, label: texts.sharing.lives[value] }))}
            onValue={setLife}
          />
          <Button busy={isBusy} icon="plus" onClick={() => void share()}>
            {texts.sharing.create}
          </Button>
        </div>
        {shared !== undefined && (
          <Address
            label={texts.sharing.tokenAddress}
            address={`${addressOf(code)}#${shared.token}`}
            note={texts.sharing.until(formatMoment(shared.expiresAt))}
          />
        )}
        {link.statsTokensFrom !== null && (
          <p class="share-state">
            {texts.sharing.active(formatMoment(link.statsTokensFrom))}
            <Button small kind="danger" busy={isBusy} onClick={() => void revoke()}>
              {texts.sharing.revoke}
            </Button>
          </p>
        )}
      </section>
    </Dialog>
  );
}

function Address({
  label,
  address,
  note,
}: {
  readonly label: string;
  readonly address: string;
  readonly note?: string;
}) {
  return (
    <div class="share-address">
      <TextField label={label} value={address} onText={() => {}} readOnly help={note} />
      <CopyTextButton kind="plain" text={address} label={texts.sharing.copy} />
    </div>
  );
}
