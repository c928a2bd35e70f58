/** A link's QR code: styled, shown, downloaded, copied. Everything happens in the browser. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import type { LinkView } from '../api/types.ts';
import { withoutScheme } from '../format.ts';
import { closeOverlay } from '../state/router.ts';
import { Button } from '../ui/button.tsx';
import { saveFile } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, SelectField, Switch } from '../ui/field.tsx';
import { showToast } from '../ui/toast.tsx';
import {
  type CorrectionLevel,
  contrastOf,
  correctionLevels,
  drawQr,
  modulesOf,
  plainStyle,
  type QrStyle,
  qrSvg,
  scannedUrlOf,
} from './qr-image.ts';

const sizes = ['256', '512', '1024', '2048'] as const;
const margins = ['0', '2', '4', '8'] as const;
const previewPx = 480;
const contrastMin = 3;
const marginMin = 2;
const styleKey = 'terse-qr-style';

function keptStyle(): QrStyle {
  try {
    return { ...plainStyle, ...(JSON.parse(localStorage.getItem(styleKey) ?? '{}') as Partial<QrStyle>) };
  } catch {
    return plainStyle;
  }
}

interface Logo {
  readonly picture: ImageBitmap;
  /** A data: address, for SVG. */
  readonly address: string;
}

export function QrDialog({ link }: { readonly link: LinkView }) {
  const [style, setStyle] = useState(keptStyle);
  const [size, setSize] = useState<(typeof sizes)[number]>('1024');
  const [logo, setLogo] = useState<Logo>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const modules = useMemo(
    () => modulesOf(scannedUrlOf(link.shortUrl), style, logo !== undefined),
    [link.shortUrl, style, logo],
  );
  useEffect(() => {
    if (canvas.current !== null)
      drawQr(canvas.current, modules, style, { sizePx: previewPx, logo: logo?.picture });
  }, [modules, style, logo]);
  const change = (part: Partial<QrStyle>): void => {
    const next = { ...style, ...part };
    setStyle(next);
    localStorage.setItem(styleKey, JSON.stringify(next));
  };

  const png = (): Promise<Blob> => {
    const drawn = document.createElement('canvas');
    drawQr(drawn, modules, style, { sizePx: Number(size), logo: logo?.picture });
    return new Promise((resolve, reject) =>
      drawn.toBlob(blob => (blob === null ? reject(new Error(texts.errors.unknown)) : resolve(blob))),
    );
  };
  const saveSvg = (): void => {
    const svgLogo = logo && {
      address: logo.address,
      width: logo.picture.width,
      height: logo.picture.height,
    };
    const text = qrSvg(modules, style, { sizePx: Number(size), logo: svgLogo });
    saveFile(`${link.shortCode}.svg`, new Blob([text], { type: 'image/svg+xml' }));
  };
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.write([new ClipboardItem({ 'image/png': png() })]);
      showToast(texts.copying.image);
    } catch {
      showToast(texts.copying.imageRefused, { isProblem: true });
    }
  };
  const hasLowContrast = contrastOf(style.foreground, style.background) < contrastMin;
  return (
    <Dialog
      title={texts.qr.title}
      size="large"
      onClose={closeOverlay}
      footer={
        <>
          <Button icon="copy" onClick={() => void copy()}>
            {texts.qr.copy}
          </Button>
          <Button icon="download" aria-label={texts.qr.download(texts.qr.svg)} onClick={saveSvg}>
            {texts.qr.svg}
          </Button>
          <Button
            kind="primary"
            icon="download"
            aria-label={texts.qr.download(texts.qr.png)}
            onClick={async () => saveFile(`${link.shortCode}.png`, await png())}
          >
            {texts.qr.png}
          </Button>
        </>
      }
    >
      <div class="qr-studio">
        <div class="qr-preview">
          <canvas
            ref={canvas}
            class={style.background === null ? 'qr qr-see-through' : 'qr'}
            role="img"
            aria-label={texts.qr.alt}
          />
          <p class="made-link">{withoutScheme(link.shortUrl)}</p>
          <p class="qr-warning" role="status">
            {hasLowContrast ? texts.qr.lowContrast : style.margin < marginMin ? texts.qr.narrow : ''}
          </p>
        </div>
        <div class="form">
          <div class="form-pair">
            <ColourField
              label={texts.qr.foreground}
              value={style.foreground}
              onValue={foreground => change({ foreground })}
            />
            <ColourField
              label={texts.qr.background}
              value={style.background ?? '#ffffff'}
              isDisabled={style.background === null}
              onValue={background => change({ background })}
            />
          </div>
          <Switch
            label={texts.qr.transparent}
            checked={style.background === null}
            onChange={isOn => change({ background: isOn ? null : '#ffffff' })}
          />
          <div class="form-pair">
            <SelectField
              label={texts.qr.margin}
              value={String(style.margin) as (typeof margins)[number]}
              choices={margins.map(value => ({ value, label: texts.qr.margins[value] }))}
              onValue={value => change({ margin: Number(value) })}
            />
            <SelectField
              label={texts.qr.correction}
              value={(logo === undefined ? style.level : 'H') as CorrectionLevel}
              choices={(logo === undefined ? correctionLevels : (['H'] as const)).map(value => ({
                value: value as CorrectionLevel,
                label: texts.qr.corrections[value],
              }))}
              onValue={level => change({ level })}
            />
          </div>
          <SelectField
            label={texts.qr.size}
            value={size}
            choices={sizes.map(value => ({ value, label: texts.qr.pixels(value) }))}
            onValue={setSize}
          />
          <LogoField logo={logo} onLogo={setLogo} />
          <Button small kind="quiet" onClick={() => change(plainStyle)}>
            {texts.qr.reset}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

function ColourField({
  label,
  value,
  isDisabled = false,
  onValue,
}: {
  readonly label: string;
  readonly value: string;
  readonly isDisabled?: boolean;
  readonly onValue: (value: string) => void;
}) {
  return (
    <Field label={label}>
      {ids => (
        <span class="colour">
          <input
            {...ids}
            type="color"
            value={value}
            disabled={isDisabled}
            onInput={event => onValue(event.currentTarget.value)}
          />
          <code>{value}</code>
        </span>
      )}
    </Field>
  );
}

function LogoField({
  logo,
  onLogo,
}: {
  readonly logo: Logo | undefined;
  readonly onLogo: (logo: Logo | undefined) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState<string>();
  const read = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    try {
      const [picture, address] = await Promise.all([createImageBitmap(file), dataAddress(file)]);
      onLogo({ picture, address });
      setProblem(undefined);
    } catch {
      setProblem(texts.qr.logoProblem);
    }
  };
  return (
    <Field label={texts.qr.logo} help={texts.qr.logoHelp} problem={problem}>
      {ids => (
        <div class="button-row">
          <input
            {...ids}
            ref={input}
            type="file"
            class="visually-hidden"
            accept="image/png,image/jpeg,image/webp,image/gif"
            onChange={event => void read(event.currentTarget.files?.[0])}
          />
          <Button small icon="image" onClick={() => input.current?.click()}>
            {texts.qr.addLogo}
          </Button>
          {logo !== undefined && (
            <Button
              small
              kind="quiet"
              icon="close"
              onClick={() => {
                onLogo(undefined);
                if (input.current !== null) input.current.value = '';
              }}
            >
              {texts.qr.removeLogo}
            </Button>
          )}
        </div>
      )}
    </Field>
  );
}

function dataAddress(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error());
    reader.readAsDataURL(file);
  });
}
