import { describe, expect, test } from 'bun:test';
import { crc32, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { qrPng, qrSizePx, qrSvg } from './qr.ts';

const shortUrl = 'https://terse.example/x7Kq2Rt';

interface Picture {
  readonly sizePx: number;
  isBlack(x: number, y: number): boolean;
}

/** Reads a PNG of one bit per pixel by the specification, checking every chunk's checksum. */
function decodePng(bytes: Uint8Array): Picture {
  const buffer = Buffer.from(bytes);
  expect(buffer.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  const chunks = new Map<string, Buffer>();
  for (let offset = 8; offset < buffer.length; ) {
    const end = offset + 8 + buffer.readUInt32BE(offset);
    expect(buffer.readUInt32BE(end)).toBe(crc32(buffer.subarray(offset + 4, end)));
    chunks.set(buffer.toString('latin1', offset + 4, offset + 8), buffer.subarray(offset + 8, end));
    offset = end + 4;
  }
  expect([...chunks.keys()]).toEqual(['IHDR', 'IDAT', 'IEND']);
  const header = chunks.get('IHDR')!;
  const sizePx = header.readUInt32BE(0);
  expect(header.readUInt32BE(4)).toBe(sizePx);
  expect([...header.subarray(8)]).toEqual([1, 0, 0, 0, 0]);
  const rowBytes = 1 + Math.ceil(sizePx / 8);
  const rows = inflateSync(chunks.get('IDAT')!);
  expect(rows.length).toBe(rowBytes * sizePx);
  for (let y = 0; y < sizePx; y += 1) expect(rows[y * rowBytes]).toBe(0);
  return { sizePx, isBlack: (x, y) => ((rows[y * rowBytes + 1 + (x >> 3)]! >> (7 - (x & 7))) & 1) === 0 };
}

/** Fills the one path of our SVG by the even-odd rule, sampling the middle of each pixel. */
function rasterise(svg: string): Picture {
  const sizePx = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)?.[1]);
  const [margin, scale] = /translate\((\d+) \1\) scale\((\d+)\)/.exec(svg)!.slice(1).map(Number) as [
    number,
    number,
  ];
  const outlines = [.../ d="([^"]+)"/.exec(svg)![1]!.matchAll(/M([^Z]+)Z/g)].map(([, points]) =>
    points!.split('L').map(point => point.split(' ').map(Number) as [number, number]),
  );
  const crossingsByRow = Array.from({ length: sizePx }, (_, pixelY) => {
    const y = (pixelY + 0.5 - margin) / scale;
    return outlines.flatMap(outline =>
      outline.flatMap(([x, y1], index) =>
        y1 > y !== outline[(index + 1) % outline.length]![1] > y ? [x] : [],
      ),
    );
  });
  const isBlack = (pixelX: number, pixelY: number): boolean => {
    const x = (pixelX + 0.5 - margin) / scale;
    return crossingsByRow[pixelY]!.filter(crossing => crossing > x).length % 2 === 1;
  };
  return { sizePx, isBlack };
}

/** How wide the finder's outer ring (seven modules) is at the top left, and where it starts. */
function measure(picture: Picture): { marginPx: number; cellPx: number } {
  let marginPx = 0;
  while (!picture.isBlack(marginPx, marginPx)) marginPx += 1;
  let ringEnd = marginPx;
  while (picture.isBlack(ringEnd, marginPx)) ringEnd += 1;
  return { marginPx, cellPx: (ringEnd - marginPx) / 7 };
}

/** Which modules each of the eight masks of the standard inverts. */
const masks: readonly ((row: number, column: number) => boolean)[] = [
  (row, column) => (row + column) % 2 === 0,
  row => row % 2 === 0,
  (_, column) => column % 3 === 0,
  (row, column) => (row + column) % 3 === 0,
  (row, column) => (Math.floor(row / 2) + Math.floor(column / 3)) % 2 === 0,
  (row, column) => ((row * column) % 2) + ((row * column) % 3) === 0,
  (row, column) => (((row * column) % 2) + ((row * column) % 3)) % 2 === 0,
  (row, column) => (((row + column) % 2) + ((row * column) % 3)) % 2 === 0,
];

/** A text of 21 to 26 bytes: version 2, level M, where the data is one block in plain order. */
const scannableUrl = 'https://t.example/x7Kq2Rt';

/** Reads a version 2 code as a scanner without error correction would. */
function scan(picture: Picture): string {
  const size = 25;
  const { marginPx, cellPx } = measure(picture);
  const module = (row: number, column: number): boolean =>
    picture.isBlack(marginPx + column * cellPx, marginPx + row * cellPx);
  const mask = masks[[2, 3, 4].reduce((bits, column) => bits * 2 + Number(module(8, column)), 0) ^ 0b101]!;
  const isFunction = (row: number, column: number): boolean =>
    (row < 9 && (column < 9 || column >= size - 8)) ||
    (row >= size - 8 && column < 9) ||
    row === 6 ||
    column === 6 ||
    (row >= 16 && row <= 20 && column >= 16 && column <= 20);
  let bits = '';
  for (let right = size - 1, upwards = true; right > 0; right -= right === 8 ? 3 : 2, upwards = !upwards) {
    for (let step = 0; step < size; step += 1) {
      const row = upwards ? size - 1 - step : step;
      for (const column of [right, right - 1]) {
        if (!isFunction(row, column)) bits += Number(module(row, column) !== mask(row, column));
      }
    }
  }
  expect(bits.slice(0, 4)).toBe('0100');
  const length = Number.parseInt(bits.slice(4, 12), 2);
  const bytes = Array.from({ length }, (_, index) =>
    Number.parseInt(bits.slice(12 + 8 * index, 20 + 8 * index), 2),
  );
  return Buffer.from(bytes).toString();
}

describe('QR codes', () => {
  test.each([64, 101, 256])('are the same picture as PNG and as SVG at %p px', sizePx => {
    const png = decodePng(qrPng(shortUrl, { sizePx }));
    const svg = rasterise(qrSvg(shortUrl, { sizePx }));
    expect(png.sizePx).toBe(sizePx);
    expect(svg.sizePx).toBe(sizePx);
    const differing: string[] = [];
    for (let y = 0; y < sizePx; y += 1) {
      for (let x = 0; x < sizePx; x += 1) {
        if (png.isBlack(x, y) !== svg.isBlack(x, y)) differing.push(`${x},${y}`);
      }
    }
    expect(differing).toEqual([]);
  });

  test('have whole pixels per module, four quiet modules around, and the size asked for', () => {
    fc.assert(
      fc.property(fc.integer({ min: qrSizePx.min, max: 512 }), sizePx => {
        const picture = decodePng(qrPng(shortUrl, { sizePx }));
        const { marginPx, cellPx } = measure(picture);
        expect(picture.sizePx).toBe(sizePx);
        expect(Number.isInteger(cellPx)).toBe(true);
        expect(marginPx).toBeGreaterThanOrEqual(4 * cellPx);
        let lastBlack = sizePx - 1;
        while (!picture.isBlack(lastBlack, marginPx)) lastBlack -= 1;
        expect(sizePx - 1 - lastBlack).toBeGreaterThanOrEqual(4 * cellPx);
      }),
      { numRuns: 25 },
    );
  });

  test('read back as exactly their text', () => {
    for (const sizePx of [64, 200, 511]) {
      expect(scan(decodePng(qrPng(scannableUrl, { sizePx })))).toBe(scannableUrl);
      expect(scan(rasterise(qrSvg(scannableUrl, { sizePx })))).toBe(scannableUrl);
    }
  });

  test('correct errors at level M or better, as their format bits say', () => {
    for (const text of [
      shortUrl,
      `${shortUrl}-and-a-somewhat-longer-alias`,
      `https://t.example/${'a'.repeat(64)}`,
    ]) {
      const picture = decodePng(qrPng(text, { sizePx: 512 }));
      const { marginPx, cellPx } = measure(picture);
      const bit = (column: number): number =>
        Number(picture.isBlack(marginPx + column * cellPx, marginPx + 8 * cellPx));
      // The first two format bits, beside the top left finder, are masked with 1 and 0; 01 would be level L.
      const level = ((bit(0) ^ 1) << 1) | bit(1);
      expect([0b00, 0b11, 0b10]).toContain(level);
    }
  });

  test('grow rather than blur when a text does not fit the size', () => {
    const longText = `https://terse.example/${'x'.repeat(500)}`;
    const picture = decodePng(qrPng(longText, { sizePx: 64 }));
    expect(measure(picture)).toEqual({ marginPx: 4, cellPx: 1 });
    expect(picture.sizePx).toBeGreaterThan(64);
  });

  test.each([63, 2049, 100.5, Number.NaN])('refuse to be %p px wide', sizePx => {
    expect(() => qrSvg(shortUrl, { sizePx })).toThrow(RangeError);
    expect(() => qrPng(shortUrl, { sizePx })).toThrow(RangeError);
  });

  test('reach the largest size', () => {
    expect(decodePng(qrPng(shortUrl, { sizePx: 2048 })).sizePx).toBe(2048);
  });

  test('carry none of their text as markup', () => {
    expect(qrSvg('"/><script>alert(1)</script>', { sizePx: 128 })).not.toContain('script');
  });
});
