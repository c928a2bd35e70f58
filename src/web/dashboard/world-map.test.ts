import { expect, test } from 'bun:test';
import { countryOfNumber, worldMap } from './world-map.ts';

const map = worldMap();

test('every country has one place on the map: an outline, or a dot inside it', () => {
  const drawn = [...map.shapes, ...map.dots].map(([country]) => country).filter(country => country !== '');
  expect(new Set(drawn).size).toBe(drawn.length);
  expect(drawn.length).toBeGreaterThan(230);
  for (const [, x, y] of map.dots) {
    expect(x).toBeWithin(0, map.width);
    expect(y).toBeWithin(0, map.height);
  }
});

test('places are where one looks for them', () => {
  const dotOf = (country: string) => map.dots.find(([name]) => name === country)!;
  expect(map.shapes.map(([country]) => country)).toEqual(expect.arrayContaining(['DE', 'US', 'BR', 'NZ']));
  // Singapore is east of Malta and south of it.
  expect(dotOf('SG')[1]).toBeGreaterThan(dotOf('MT')[1]);
  expect(dotOf('SG')[2]).toBeGreaterThan(dotOf('MT')[2]);
});

test('the table of countries names each code and each number once', () => {
  expect(new Set(countryOfNumber.values()).size).toBe(countryOfNumber.size);
  expect([...countryOfNumber.values()].every(country => /^[A-Z]{2}$/.test(country))).toBe(true);
  expect(countryOfNumber.get('276')).toBe('DE');
});
