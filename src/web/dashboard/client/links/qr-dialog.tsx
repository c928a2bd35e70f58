/** A link's QR code: to look at, and to download as a drawing or as pixels. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { qrAddress } from '../api/links.ts';
import type { LinkView } from '../api/types.ts';
import { withoutScheme } from '../format.ts';
import { closeOverlay } from '../state/overlay.ts';
import { LinkButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Segments } from '../ui/field.tsx';

const sizes = ['256', '512', '1024', '2048'] as const;

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
