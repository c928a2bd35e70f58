/**
 * QR codes of short URLs. SVG and PNG share one placement, so they show the same picture: every module is a
 * whole number of pixels, the quiet zone is at least four modules, and the background is always white,
 * because a code on a dark page must still scan.
 */
import { type Bitmap2D, correction, generate } from 'lean-qr';
import { toSvgPath } from 'lean-qr/extras/svg';
import { html } from './html.ts';
import { type CellPlacement, encodePng } from './png.ts';

export const qrSizePx = { min: 64, max: 2048, default: 256 } as const;

const quietZoneModules = 4;

export interface QrOptions {
  /** Width and height. A text too long for it gets one pixel per module and a larger image instead. */
  readonly sizePx: number;
}

export function qrSvg(text: string, options: QrOptions): string {
  const modules = modulesOf(text);
  const { sizePx, marginPx, cellPx } = placementOf(modules, options);
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${sizePx}" height="${sizePx}" viewBox="0 0 ${sizePx} ${sizePx}" role="img" aria-label="QR code" shape-rendering="crispEdges"><rect width="${sizePx}" height="${sizePx}" fill="#fff"/><path transform="translate(${marginPx} ${marginPx}) scale(${cellPx})" d="${toSvgPath(modules)}" fill="#000"/></svg>`.toString();
}

export function qrPng(text: string, options: QrOptions): Uint8Array {
  const modules = modulesOf(text);
  return encodePng(modules, placementOf(modules, options));
}

/** Level M survives a scratched print; the library raises it where that costs no larger code. */
function modulesOf(text: string): Bitmap2D {
  return generate(text, { minCorrectionLevel: correction.M });
}

function placementOf(modules: Bitmap2D, { sizePx: wantedPx }: QrOptions): CellPlacement {
  if (!Number.isInteger(wantedPx) || wantedPx < qrSizePx.min || wantedPx > qrSizePx.max) {
    throw new RangeError(`a QR code is ${qrSizePx.min} to ${qrSizePx.max} pixels wide, not ${wantedPx}`);
  }
  const neededModules = modules.size + 2 * quietZoneModules;
  const sizePx = Math.max(wantedPx, neededModules);
  const cellPx = Math.floor(sizePx / neededModules);
  return { sizePx, cellPx, marginPx: Math.floor((sizePx - modules.size * cellPx) / 2) };
}
