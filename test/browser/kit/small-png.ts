/**
 * Pictures of a user interface have few colours: with a palette of 256 they are a third of the size and look the same.
 * Reads the PNG that a browser writes (8 bits per channel, RGB or RGBA, not interlaced) and writes indexed PNG.
 */
import { deflateSync, inflateSync } from 'node:zlib';

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Three bytes each; pages are opaque. */
  readonly rgb: Uint8Array;
}

const signatureBytes = 8;
const coloursMax = 256;

export function smallPng(png: Uint8Array): Uint8Array {
  const { width, height, rgb } = decode(png);
  const counts = new Map<number, number>();
  for (let at = 0; at < rgb.length; at += 3) {
    const colour = (rgb[at]! << 16) | (rgb[at + 1]! << 8) | rgb[at + 2]!;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const { palette, indexOf } = reduce(counts);
  const rows = Buffer.alloc((width + 1) * height);
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    const at = pixel * 3;
    const colour = (rgb[at]! << 16) | (rgb[at + 1]! << 8) | rgb[at + 2]!;
    rows[Math.floor(pixel / width) * (width + 1) + 1 + (pixel % width)] = indexOf.get(colour)!;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    png.subarray(0, signatureBytes),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap(colour => [colour >> 16, (colour >> 8) & 255, colour & 255]))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function decode(png: Uint8Array): Pixels {
  const file = Buffer.from(png);
  const data: Buffer[] = [];
  for (let at = signatureBytes; at < file.length; at += 12 + file.readUInt32BE(at)) {
    if (file.toString('latin1', at + 4, at + 8) === 'IDAT')
      data.push(file.subarray(at + 8, at + 8 + file.readUInt32BE(at)));
  }
  const [width, height, channels] = [file.readUInt32BE(16), file.readUInt32BE(20), file[25] === 6 ? 4 : 3];
  const stride = width * channels;
  const packed = inflateSync(Buffer.concat(data));
  const pixels = new Uint8Array(stride * height);
  for (let row = 0; row < height; row += 1) {
    const filter = packed[row * (stride + 1)]!;
    for (let column = 0; column < stride; column += 1) {
      const at = row * stride + column;
      const left = column >= channels ? pixels[at - channels]! : 0;
      const up = row > 0 ? pixels[at - stride]! : 0;
      const corner = row > 0 && column >= channels ? pixels[at - stride - channels]! : 0;
      pixels[at] = packed[row * (stride + 1) + 1 + column]! + predicted(filter, left, up, corner);
    }
  }
  const rgb = channels === 3 ? pixels : pixels.filter((_, index) => index % 4 !== 3);
  return { width, height, rgb };
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 0) return 0;
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  const [byLeft, byUp, byCorner] = [
    Math.abs(up - corner),
    Math.abs(left - corner),
    Math.abs(left + up - 2 * corner),
  ];
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}

type Colour = readonly [colour: number, count: number];
const shifts = [16, 8, 0] as const;

/** Median cut: the box with the widest spread of pixels is halved until there are enough boxes. */
function reduce(counts: ReadonlyMap<number, number>): { palette: number[]; indexOf: Map<number, number> } {
  const boxes: Colour[][] = [[...counts]];
  while (boxes.length < coloursMax) {
    const widest = boxes.reduce((best, box, index) => (weight(box) > weight(boxes[best]!) ? index : best), 0);
    const box = boxes[widest]!;
    if (box.length < 2) break;
    const shift = shifts.reduce((best, each) => (spread(box, each) > spread(box, best) ? each : best));
    box.sort(([a], [b]) => ((a >> shift) & 255) - ((b >> shift) & 255));
    boxes[widest] = box.slice(0, box.length >> 1);
    boxes.push(box.slice(box.length >> 1));
  }
  const indexOf = new Map<number, number>();
  const palette = boxes.map((box, index) => {
    for (const [colour] of box) indexOf.set(colour, index);
    // The most frequent colour of a box is one of the design's own; a mean would not be.
    return box.reduce((best, each) => (each[1] > best[1] ? each : best))[0];
  });
  return { palette, indexOf };
}

function spread(box: readonly Colour[], shift: number): number {
  let [least, most] = [255, 0];
  for (const [colour] of box) {
    const value = (colour >> shift) & 255;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return most - least;
}

const weights = new WeakMap<readonly Colour[], number>();

function weight(box: readonly Colour[]): number {
  const known = weights.get(box);
  if (known !== undefined) return known;
  const widest = Math.max(...shifts.map(shift => spread(box, shift)));
  const found = box.length < 2 ? 0 : widest * Math.sqrt(box.length);
  weights.set(box, found);
  return found;
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(body, 4);
  framed.writeUInt32BE(Bun.hash.crc32(body), body.length + 4);
  return framed;
}
