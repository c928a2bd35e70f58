/** QR codes as the user styles them: drawn on a canvas, or written as SVG. They never leave the browser. */
import { type Bitmap2D, correction, generate } from 'lean-qr';

export const correctionLevels = ['L', 'M', 'Q', 'H'] as const;
export type CorrectionLevel = (typeof correctionLevels)[number];

export interface QrStyle {
  /** Colours as `#rrggbb`. */
  readonly foreground: string;
  /** Null for none. */
  readonly background: string | null;
  /** In modules. */
  readonly margin: number;
  readonly level: CorrectionLevel;
}

export const plainStyle: QrStyle = { foreground: '#000000', background: '#ffffff', margin: 4, level: 'M' };

/** A share of the code's width: the highest correction makes up for it, with room to spare. */
const logoShare = 0.22;

/** The content of a code. The parameter distinguishes scans from other clicks in the statistics. */
export const scannedUrlOf = (shortUrl: string): string => `${shortUrl}?qr`;

/** A logo covers modules, so it needs the highest correction. */
export function modulesOf(text: string, { level }: QrStyle, hasLogo: boolean): Bitmap2D {
  const wanted = correction[hasLogo ? 'H' : level];
  return generate(text, { minCorrectionLevel: wanted, maxCorrectionLevel: wanted });
}

interface Box {
  readonly from: number;
  readonly size: number;
}

/** The modules in the middle that a logo replaces: whole ones, so that none is cut. */
function logoBox(modules: Bitmap2D): Box {
  const size = Math.ceil(modules.size * logoShare) | 1;
  return { from: (modules.size - size) / 2, size };
}

const isCovered = ({ from, size }: Box, x: number, y: number): boolean =>
  x >= from && x < from + size && y >= from && y < from + size;

/** Every module that is dark, without those under the logo. */
function* darkModules(modules: Bitmap2D, box: Box | undefined): Generator<readonly [number, number]> {
  for (let y = 0; y < modules.size; y += 1)
    for (let x = 0; x < modules.size; x += 1)
      if (modules.get(x, y) && (box === undefined || !isCovered(box, x, y))) yield [x, y];
}

export function drawQr(
  canvas: HTMLCanvasElement,
  modules: Bitmap2D,
  style: QrStyle,
  { sizePx, logo }: { readonly sizePx: number; readonly logo: ImageBitmap | undefined },
): void {
  const across = modules.size + 2 * style.margin;
  // Whole pixels per module: scanners and printers want sharp edges.
  const cellPx = Math.max(1, Math.floor(sizePx / across));
  const edgePx = Math.max(sizePx, across);
  const offsetPx = Math.floor((edgePx - modules.size * cellPx) / 2);
  canvas.width = edgePx;
  canvas.height = edgePx;
  const context = canvas.getContext('2d')!;
  if (style.background !== null) {
    context.fillStyle = style.background;
    context.fillRect(0, 0, edgePx, edgePx);
  }
  const box = logo === undefined ? undefined : logoBox(modules);
  context.fillStyle = style.foreground;
  for (const [x, y] of darkModules(modules, box))
    context.fillRect(offsetPx + x * cellPx, offsetPx + y * cellPx, cellPx, cellPx);
  if (logo === undefined || box === undefined) return;
  const { left, top, width, height } = within(box, logo);
  context.drawImage(logo, offsetPx + left * cellPx, offsetPx + top * cellPx, width * cellPx, height * cellPx);
}

/** Where a picture goes in the box, with half a module around it, in its own proportions. */
function within({ from, size }: Box, { width, height }: { readonly width: number; readonly height: number }) {
  const room = size - 1;
  const scale = room / Math.max(width, height, 1);
  const [ownWidth, ownHeight] = [width * scale, height * scale];
  return {
    left: from + (size - ownWidth) / 2,
    top: from + (size - ownHeight) / 2,
    width: ownWidth,
    height: ownHeight,
  };
}

interface SvgLogo {
  /** A data: address. */
  readonly address: string;
  readonly width: number;
  readonly height: number;
}

export function qrSvg(
  modules: Bitmap2D,
  { foreground, background, margin }: QrStyle,
  { sizePx, logo }: { readonly sizePx: number; readonly logo: SvgLogo | undefined },
): string {
  const across = modules.size + 2 * margin;
  const box = logo === undefined ? undefined : logoBox(modules);
  const path = [...darkModules(modules, box)]
    .map(([x, y]) => `M${x + margin} ${y + margin}h1v1h-1z`)
    .join('');
  const back = background === null ? '' : `<rect width="${across}" height="${across}" fill="${background}"/>`;
  const place = box === undefined || logo === undefined ? undefined : within(box, logo);
  const picture =
    place === undefined || logo === undefined
      ? ''
      : `<image href="${logo.address}" x="${place.left + margin}" y="${place.top + margin}" width="${place.width}" height="${place.height}"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${sizePx}" height="${sizePx}" viewBox="0 0 ${across} ${across}" shape-rendering="crispEdges">${back}<path fill="${foreground}" d="${path}"/>${picture}</svg>`;
}

/** How easily a camera tells the two apart: 1 for the same, 21 for black on white. */
export function contrastOf(foreground: string, background: string | null): number {
  const dark = luminanceOf(foreground);
  const light = luminanceOf(background ?? '#ffffff');
  // Light on dark is not read by every camera, however strong.
  return light < dark ? 1 : (light + 0.05) / (dark + 0.05);
}

function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(at => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
