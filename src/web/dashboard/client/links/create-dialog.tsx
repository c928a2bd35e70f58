/** Making a link, and then showing it: the link to copy, its QR code, and the way on. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { createLink, qrAddress } from '../api/links.ts';
import type { LinkView } from '../api/types.ts';
import { withoutScheme } from '../format.ts';
import { putLink } from '../state/link-index.ts';
import { closeOverlay, openOverlay } from '../state/overlay.ts';
import { goTo } from '../state/router.ts';
import { Button } from '../ui/button.tsx';
import { copyWithToast } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { LinkFieldset } from './link-fields.tsx';
import { fieldsOf, newDraft } from './link-form.ts';
import { StatusBadge } from './status-badge.tsx';

export function CreateDialog({ longUrl }: { readonly longUrl: string }) {
  const [made, setMade] = useState<LinkView>();
  return made === undefined ? <CreateForm longUrl={longUrl} onMade={setMade} /> : <MadeLink link={made} />;
}

function CreateForm({
  longUrl,
  onMade,
}: {
  readonly longUrl: string;
  readonly onMade: (link: LinkView) => void;
}) {
  const [draft, setDraft] = useState(() => newDraft(longUrl));
  const submit = async (): Promise<void> => {
    const link = await createLink(fieldsOf(draft));
    putLink(link);
    onMade(link);
  };
  return (
    <FormDialog
      title={texts.form.createTitle}
      onClose={closeOverlay}
      submitLabel={texts.form.create}
      canSubmit={draft.longUrl.trim() !== ''}
      onSubmit={submit}
    >
      {problems => <LinkFieldset draft={draft} onDraft={setDraft} isNew problems={problems} />}
    </FormDialog>
  );
}

function MadeLink({ link }: { readonly link: LinkView }) {
  return (
    <Dialog
      title={texts.form.madeTitle}
      size="small"
      onClose={closeOverlay}
      footer={
        <>
          <Button kind="quiet" onClick={() => openOverlay({ kind: 'create', longUrl: '' })}>
            {texts.form.another}
          </Button>
          <Button
            onClick={() => {
              closeOverlay();
              goTo(`/links/${link.shortCode}`);
            }}
          >
            {texts.form.openLink}
          </Button>
        </>
      }
    >
      <div class="made">
        <img
          class="qr"
          src={qrAddress(link.shortCode, 'svg', 160)}
          width={160}
          height={160}
          alt={texts.qr.alt}
        />
        <p class="made-link">{withoutScheme(link.shortUrl)}</p>
        {link.status !== 'active' && (
          <p>
            <StatusBadge status={link.status} /> {texts.form.madeHeld}
          </p>
        )}
        <Button
          kind="primary"
          icon="copy"
          data-autofocus
          onClick={() => {
            void copyWithToast(link.shortUrl);
          }}
        >
          {texts.actions.copyLink}
        </Button>
      </div>
    </Dialog>
  );
}
