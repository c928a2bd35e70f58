/** Two lengths for one body, even equal ones, are how requests are smuggled past a proxy. */
import { Problem } from '../base/errors.ts';

/** The problem with such a request; undefined for nearly all, at the price of looking for one header. */
export function twoLengths(request: Request): Problem | undefined {
  if (!request.headers.get('content-length')?.includes(',')) return undefined;
  return new Problem('invalid_request', {
    detail: 'Content-Length is given twice.',
    headers: { Connection: 'close' },
  });
}
