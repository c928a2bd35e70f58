import { expect, test } from 'bun:test';
import { queryTraitsOf } from '../../../../clicks/steps/visit.ts';
import { contrastOf, modulesOf, plainStyle, qrSvg, scannedUrlOf } from './qr-image.ts';

const address = 'https://terse.example/spring';

test('a code contains the address of the link, with the parameter that counts a scan', () => {
  const { pathname, search } = new URL(scannedUrlOf(address));
  expect(pathname).toBe('/spring');
  expect(queryTraitsOf(search.slice(1)).via).toBe('qr');
});

test('a code with a logo has the highest correction, whatever was chosen', () => {
  const sizes = [false, true].map(hasLogo => modulesOf(address, { ...plainStyle, level: 'L' }, hasLogo).size);
  expect(sizes[1]).toBe(modulesOf(address, { ...plainStyle, level: 'H' }, false).size);
  expect(sizes[1]).toBeGreaterThan(sizes[0]!);
});

test('the drawing has the margin, the colours and each dark module once', () => {
  const style = { ...plainStyle, foreground: '#102a6b', background: null, margin: 2 };
  const modules = modulesOf(address, style, false);
  const svg = qrSvg(modules, style, { sizePx: 512, logo: undefined });
  const across = modules.size + 4;
  expect(svg).toContain(`viewBox="0 0 ${across} ${across}"`);
  expect(svg).not.toContain('<rect');
  let dark = 0;
  for (let y = 0; y < modules.size; y += 1)
    for (let x = 0; x < modules.size; x += 1) {
      if (modules.get(x, y)) dark += 1;
      expect(svg.includes(`M${x + 2} ${y + 2}h1v1h-1z`)).toBe(modules.get(x, y));
    }
  expect(svg.match(/h1v1h-1z/g)).toHaveLength(dark);
});

test('a logo is in the middle, in its own proportions, and no module is under it', () => {
  const modules = modulesOf(address, plainStyle, true);
  const svg = qrSvg(modules, plainStyle, {
    sizePx: 512,
    logo: { address: 'data:image/png;base64,AA', width: 200, height: 100 },
  });
  const [, x, y, width, height] = /x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/
    .exec(svg.slice(svg.indexOf('<image')))!
    .map(Number);
  const middle = (modules.size + 2 * plainStyle.margin) / 2;
  expect([x! + width! / 2, y! + height! / 2]).toEqual([middle, middle]);
  expect(width).toBeCloseTo(2 * height!);
  // The logo covers less than the 30% that the correction can restore.
  expect((width! + 1) ** 2 / modules.size ** 2).toBeLessThan(0.1);
  expect(svg).not.toContain(`M${Math.floor(middle)} ${Math.floor(middle)}h1`);
});

test('light codes on dark ground count as unreadable, dark ones on light ground do not', () => {
  expect(contrastOf('#000000', '#ffffff')).toBeCloseTo(21);
  expect(contrastOf('#ffffff', '#000000')).toBe(1);
  expect(contrastOf('#c0c0ff', null)).toBeLessThan(3);
});
