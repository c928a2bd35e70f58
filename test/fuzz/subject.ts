/** The link that an accepted request is about. */
import { expect } from 'bun:test';
import type { Model, ModelLink } from './model.ts';
import type { SentRequest } from './sent-request.ts';

/** What the path names; it must be there for a request that was accepted. */
export function subject({ places, owner, seesAllLinks }: SentRequest, model: Model): ModelLink {
  const link = model.manageable(places.code!, owner, seesAllLinks);
  expect(link).toBeDefined();
  expect(link!.deleted).toBe(false);
  return link!;
}
