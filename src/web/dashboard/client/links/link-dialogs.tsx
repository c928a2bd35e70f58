/** The dialogs that create and edit a link. What was typed is kept until it is sent or discarded. */
import { useMemo, useState } from 'preact/hooks';
import { systemRandom } from '../../../../base/random.ts';
import { texts } from '../../texts.ts';
import { createLink, editLink, qrAddress } from '../api/calls.ts';
import type { LinkView } from '../api/types.ts';
import { withoutScheme } from '../format.ts';
import { putLink } from '../state/links.ts';
import { closeOverlay, goTo, openOverlay } from '../state/router.ts';
import { Button, Icon } from '../ui/button.tsx';
import { CopyTextButton, copyText } from '../ui/copy.tsx';
import { Dialog, FormDialog } from '../ui/dialog.tsx';
import { showToast } from '../ui/toast.tsx';
import { StatusBadge } from './link-details.tsx';
import { fieldsWithProblems, LinkFieldset } from './link-fields.tsx';
import {
  changesOf,
  draftOf,
  dropDraft,
  fieldsOf,
  keepDraft,
  type LinkDraft,
  lacksMoment,
  newDraft,
  readDraft,
} from './link-form.ts';

interface Made {
  readonly link: LinkView;
  readonly isCopied: boolean;
}

/** Creates a link, copies it, and then shows it with its QR code and the next steps. */
export function CreateDialog({
  longUrl,
  like,
}: {
  readonly longUrl: string;
  readonly like?: LinkView | undefined;
}) {
  const [made, setMade] = useState<Made>();
  return made === undefined ? (
    <CreateForm longUrl={longUrl} like={like} onMade={setMade} />
  ) : (
    <MadeLink {...made} />
  );
}

const createKey = 'create';

/** A draft that survives the dialog; `fresh` is what the form has without one. */
function useDraft(key: string, fresh: () => LinkDraft, mayRestore: boolean) {
  const [start] = useState(fresh);
  const [restored, setRestored] = useState(() => (mayRestore ? readDraft(key, start) : undefined));
  const [draft, setDraft] = useState(restored ?? start);
  return {
    draft,
    isRestored: restored !== undefined,
    isChanged: JSON.stringify(draft) !== JSON.stringify(start),
    change(next: LinkDraft): void {
      setDraft(next);
      keepDraft(key, next, start);
    },
    startOver(): void {
      dropDraft(key);
      setRestored(undefined);
      setDraft(start);
    },
    drop: () => dropDraft(key),
  };
}

function RestoredNote({ onStartOver }: { readonly onStartOver: () => void }) {
  return (
    <p class="restored" role="status">
      <Icon name="history" size={16} />
      {texts.discard.restored}
      <Button small kind="quiet" onClick={onStartOver}>
        {texts.discard.startOver}
      </Button>
    </p>
  );
}

function CreateForm({
  longUrl,
  like,
  onMade,
}: {
  readonly longUrl: string;
  readonly like: LinkView | undefined;
  readonly onMade: (made: Made) => void;
}) {
  // A pasted address or a duplicate does not restore a draft.
  const { draft, isRestored, isChanged, change, startOver, drop } = useDraft(
    createKey,
    () => (like === undefined ? newDraft(longUrl) : { ...draftOf(like), alias: '' }),
    longUrl === '' && like === undefined,
  );
  // Sending the same draft again repeats the request, so it creates no second link if the first attempt succeeded.
  const attempt = useMemo(
    () => ({ fields: fieldsOf(draft), key: systemRandom.bytes(16).join('.') }),
    [JSON.stringify(draft)],
  );
  const submit = async (): Promise<void> => {
    const creating = createLink(attempt.fields, attempt.key);
    // Started at once, because browsers allow copying only shortly after a click.
    const copying = copyText(creating.then(copyable));
    const link = await creating;
    drop();
    putLink(link);
    onMade({ link, isCopied: await copying });
  };
  return (
    <FormDialog
      title={texts.form.createTitle}
      onClose={() => {
        drop();
        closeOverlay();
      }}
      submitLabel={texts.form.create}
      canSubmit={draft.longUrl.trim() !== '' && !lacksMoment(draft)}
      isFilled={isChanged || like !== undefined}
      onSubmit={submit}
      fields={fieldsWithProblems}
    >
      {problems => (
        <>
          {isRestored && <RestoredNote onStartOver={startOver} />}
          <LinkFieldset draft={draft} onDraft={change} isNew problems={problems} />
        </>
      )}
    </FormDialog>
  );
}

/** A link that was held when it was created is not copied automatically. */
async function copyable({ status, shortUrl }: LinkView): Promise<string> {
  if (status !== 'active') throw new Error(texts.status[status]);
  return shortUrl;
}

const madeTitle = ({ status }: LinkView): string => {
  if (status === 'blocked') return texts.form.blockedTitle;
  return status === 'quarantined' ? texts.form.heldTitle : texts.form.madeTitle;
};

function MadeLink({ link, isCopied }: Made) {
  const isBlocked = link.status === 'blocked';
  return (
    <Dialog
      title={madeTitle(link)}
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
        {!isBlocked && (
          <img class="qr" src={qrAddress(link.shortCode, 160)} width={160} height={160} alt={texts.qr.alt} />
        )}
        <p class="made-link">{withoutScheme(link.shortUrl)}</p>
        {link.status !== 'active' && (
          <p>
            <StatusBadge status={link.status} /> {texts.statusTexts[link.status]}
          </p>
        )}
        {!isBlocked && (
          <CopyTextButton text={link.shortUrl} label={texts.actions.copyLink} wasCopied={isCopied} isFirst />
        )}
        {link.status === 'active' && (
          <p class="field-help" role={isCopied ? undefined : 'alert'}>
            {isCopied ? texts.copying.copied : texts.copying.refused}
          </p>
        )}
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
  const { draft, isRestored, isChanged, change, startOver, drop } = useDraft(
    `edit ${link.shortCode}`,
    () => draftOf(link),
    true,
  );
  const close = (): void => {
    drop();
    closeOverlay();
  };
  const save = async (): Promise<void> => {
    const changes = changesOf(draft, link);
    if (Object.keys(changes).length > 0) {
      const saved = await editLink(link.shortCode, changes);
      putLink(saved);
      onSaved?.(saved);
      showToast(texts.links.saved);
    }
    close();
  };
  return (
    <FormDialog
      title={texts.form.editTitle(link.shortCode)}
      onClose={close}
      submitLabel={texts.actions.save}
      canSubmit={!lacksMoment(draft)}
      isFilled={isChanged}
      onSubmit={save}
      fields={fieldsWithProblems}
    >
      {problems => (
        <>
          {isRestored && <RestoredNote onStartOver={startOver} />}
          <LinkFieldset draft={draft} onDraft={change} isNew={false} problems={problems} />
        </>
      )}
    </FormDialog>
  );
}
