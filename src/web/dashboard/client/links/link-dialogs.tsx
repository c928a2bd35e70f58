/** The dialogs of a link: create, edit, QR code. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { createLink, editLink, qrAddress } from '../api/calls.ts';
import type { LinkView } from '../api/types.ts';
import { withoutScheme } from '../format.ts';
import { putLink } from '../state/links.ts';
import { closeOverlay, goTo, openOverlay } from '../state/router.ts';
import { Button, LinkButton } from '../ui/button.tsx';
import { Dialog, FormDialog } from '../ui/dialog.tsx';
import { Segments } from '../ui/field.tsx';
import { copyWithToast, showToast } from '../ui/toast.tsx';
import { StatusBadge } from './link-details.tsx';
import { LinkFieldset } from './link-fields.tsx';
import { changesOf, draftOf, fieldsOf, newDraft } from './link-form.ts';

/** Creates a link, and then shows it: the link to copy, its QR code, and the next steps. */
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

interface EditDialogProps {
  readonly link: LinkView;
  readonly onSaved?: ((link: LinkView) => void) | undefined;
}

/** Editing a link: the same fields, and only changes are sent to the server. */
export function EditDialog({ link, onSaved }: EditDialogProps) {
  const [draft, setDraft] = useState(() => draftOf(link));
  const save = async (): Promise<void> => {
    const changes = changesOf(draft, link);
    if (Object.keys(changes).length > 0) {
      const saved = await editLink(link.shortCode, changes);
      putLink(saved);
      onSaved?.(saved);
      showToast(texts.links.saved);
    }
    closeOverlay();
  };
  return (
    <FormDialog
      title={texts.form.editTitle(link.shortCode)}
      onClose={closeOverlay}
      submitLabel={texts.actions.save}
      onSubmit={save}
    >
      {problems => <LinkFieldset draft={draft} onDraft={setDraft} isNew={false} problems={problems} />}
    </FormDialog>
  );
}

const sizes = ['256', '512', '1024', '2048'] as const;

/** A link's QR code: shown, and to download as SVG or PNG. */
export function QrDialog({ link }: { readonly link: LinkView }) {
  const [size, setSize] = useState<(typeof sizes)[number]>('1024');
  const code = link.shortCode;
  return (
    <Dialog title={texts.qr.title} size="small" onClose={closeOverlay}>
      <div class="made">
        <img class="qr" src={qrAddress(code, 'svg', 220)} width={220} height={220} alt={texts.qr.alt} />
        <p class="made-link">{withoutScheme(link.shortUrl)}</p>
        <Segments
          label={texts.qr.size}
          value={size}
          choices={sizes.map(value => ({ value, label: texts.qr.pixels(value) }))}
          onValue={setSize}
        />
        <div class="button-row">
          <LinkButton icon="download" href={qrAddress(code, 'svg', Number(size))} download={`${code}.svg`}>
            {texts.qr.svg}
          </LinkButton>
          <LinkButton
            kind="primary"
            icon="download"
            href={qrAddress(code, 'png', Number(size))}
            download={`${code}.png`}
          >
            {texts.qr.png}
          </LinkButton>
        </div>
      </div>
    </Dialog>
  );
}
