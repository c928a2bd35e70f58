/** The link that an accepted request is about. */
import { expect } from 'bun:test';
import type { Model, ModelLink } from './model.ts';
import type { SentRequest } from './sent-request.ts';

/** The link in the path, which must exist if the request was accepted. */
export function subject({ places, owner, seesAllLinks }: SentRequest, model: Model): ModelLink {
  const link = model.manageable(places.code!, owner, seesAllLinks);
  expect(link).toBeDefined();
  expect(link!.deleted).toBe(false);
  return link!;
}
