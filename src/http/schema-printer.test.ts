import { describe, expect, test } from 'bun:test';
import { z } from 'zod';
import { SchemaPrinter } from './schema-printer.ts';

const printed = (schema: z.ZodType, io: 'input' | 'output' = 'input') =>
  new SchemaPrinter().print(schema, io);

describe('a printed schema', () => {
  test('expresses “or null” by its type and keeps both descriptions', () => {
    const schema = z.string().max(9).meta({ description: 'inner' }).nullable();
    expect(printed(schema)).toEqual({ type: ['string', 'null'], maxLength: 9, description: 'inner' });
    expect(printed(schema.meta({ description: 'outer' }))).toMatchObject({ description: 'outer' });
    expect(printed(z.enum(['a']).nullable())).toEqual({ type: ['string', 'null'], enum: ['a', null] });
  });

  test('keeps alternatives that are more than one type or null', () => {
    expect(printed(z.union([z.string(), z.int(), z.null()])).anyOf).toHaveLength(3);
    expect(printed(z.union([z.string(), z.int()])).anyOf).toHaveLength(2);
  });

  test('expresses a time by its format', () => {
    expect(printed(z.iso.datetime())).toEqual({ type: 'string', format: 'date-time' });
  });

  test('keeps every other pattern', () => {
    expect(printed(z.string().regex(/^a$/))).toEqual({ type: 'string', pattern: '^a$' });
  });

  test('calls whole numbers integers and leaves out limits that come from the number type', () => {
    expect(printed(z.literal([1, 2]))).toEqual({ type: 'integer', enum: [1, 2] });
    expect(printed(z.int())).toEqual({ type: 'integer' });
    expect(printed(z.int().min(0).max(5))).toEqual({ type: 'integer', minimum: 0, maximum: 5 });
    expect(printed(z.number())).toEqual({ type: 'number' });
  });

  test('is simplified at every depth', () => {
    const deep = z.object({ list: z.array(z.iso.datetime().nullable()), map: z.record(z.string(), z.int()) });
    expect(printed(deep).properties).toEqual({
      list: { type: 'array', items: { type: ['string', 'null'], format: 'date-time' } },
      map: { type: 'object', additionalProperties: { type: 'integer' } },
    });
  });

  test('keeps the example and the default of a converted value', () => {
    const converted = z.iso
      .datetime()
      .transform(Date.parse)
      .default(0)
      .meta({ default: '1970-01-01T00:00:00Z', examples: ['2030-01-31T12:00:00Z'] });
    expect(printed(converted)).toEqual({
      type: 'string',
      format: 'date-time',
      default: '1970-01-01T00:00:00Z',
      examples: ['2030-01-31T12:00:00Z'],
    });
  });

  test('does not change values that only look like a schema', () => {
    const example = { type: 'number', enum: [1], minLength: 0 };
    expect(printed(z.object({}).meta({ examples: [example] })).examples).toEqual([example]);
  });
});

test('a schema with a name is printed once and referenced everywhere else', () => {
  const printer = new SchemaPrinter();
  const named = z.object({ at: z.iso.datetime() }).meta({ id: 'SchemaPrinterSample' });
  const reference = { $ref: '#/components/schemas/SchemaPrinterSample' };
  expect(printer.print(named, 'output')).toEqual(reference);
  expect(printer.print(z.array(named), 'output')).toEqual({ type: 'array', items: reference });
  expect(printer.components).toEqual({
    SchemaPrinterSample: expect.objectContaining({
      properties: { at: { type: 'string', format: 'date-time' } },
    }),
  });
});
