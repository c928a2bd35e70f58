/**
 * QR codes of short URLs. SVG and PNG share one placement, so they show the same picture: every module is a
 * whole number of pixels, the quiet zone is at least four modules, and the background is always white,
 * because a code on a dark page must still scan.
 */
import { type Bitmap2D, correction, generate } from 'lean-qr';
import { toSvgPath } from 'lean-qr/extras/svg';
import { html } from './html.ts';

export const qrSizePx = { min: 64, max: 2048, default: 256 } as const;

const quietZoneModules = 4;

interface QrOptions {
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

/** Level M survives a scratched print; the library raises it where that does not make the code larger. */
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

interface CellGrid {
  /** Cells per side. */
  readonly size: number;
  get(column: number, row: number): boolean;
}

interface CellPlacement {
  /** Width and height of the image. */
  readonly sizePx: number;
  /** White border left of and above the grid; the rest right and below is white too. */
  readonly marginPx: number;
  readonly cellPx: number;
}

const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

/**
 * A black-and-white PNG of square cells. The QR library has an encoder too, but it visits every pixel: at
 * 2,048 px that holds the event loop, and with it every redirect, for tens of milliseconds. Here a row of
 * cells is drawn once and copied, which takes one or two.
 */
function encodePng(grid: CellGrid, placement: CellPlacement): Uint8Array {
  const { sizePx } = placement;
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, sizePx);
  header.setUint32(4, sizePx);
  // One bit per pixel, greyscale; the last three bytes stay zero: deflate, no special filter, no interlace.
  header.setUint8(8, 1);
  return Buffer.concat([
    signature,
    chunk('IHDR', new Uint8Array(header.buffer)),
    // Loaded here: a server that draws no picture saves five megabytes.
    chunk('IDAT', process.getBuiltinModule('node:zlib').deflateSync(drawRows(grid, placement))),
    chunk('IEND', new Uint8Array()),
  ]);
}

/** The image before compression: each row is a filter byte (0, none) and then eight pixels a byte, 1 white. */
function drawRows(grid: CellGrid, { sizePx, marginPx, cellPx }: CellPlacement): Uint8Array {
  const rowBytes = 1 + Math.ceil(sizePx / 8);
  const pixels = new Uint8Array(rowBytes * sizePx).fill(0xff);
  for (let y = 0; y < sizePx; y += 1) pixels[y * rowBytes] = 0;
  for (let row = 0; row < grid.size; row += 1) {
    const start = (marginPx + row * cellPx) * rowBytes;
    const first = pixels.subarray(start, start + rowBytes);
    for (let column = 0; column < grid.size; column += 1) {
      if (grid.get(column, row)) blacken(first, marginPx + column * cellPx, cellPx);
    }
    for (let copy = 1; copy < cellPx; copy += 1) pixels.set(first, start + copy * rowBytes);
  }
  return pixels;
}

function blacken(row: Uint8Array, fromPx: number, widthPx: number): void {
  for (let x = fromPx; x < fromPx + widthPx; x += 1) {
    const index = 1 + (x >> 3);
    row[index] = (row[index] ?? 0) & ~(0x80 >> (x & 7));
  }
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(12 + data.length);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4, 'latin1');
  bytes.set(data, 8);
  bytes.writeUInt32BE(Bun.hash.crc32(bytes.subarray(4, 8 + data.length)), 8 + data.length);
  return bytes;
}
