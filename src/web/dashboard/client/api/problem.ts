/** What went wrong with a request, as the server or the network told it. */
import { texts } from '../../texts.ts';

export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  /** 0 when there was no answer. */
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;

  constructor(status: number, code: string, detail: string, field?: string) {
    super(detail);
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

export const unreachable = (): ApiProblem => new ApiProblem(0, 'unreachable', texts.errors.unreachable);

export async function problemOf(response: Response): Promise<ApiProblem> {
  const document = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const textOf = (name: string): string | undefined =>
    typeof document[name] === 'string' ? (document[name] as string) : undefined;
  const detail = textOf('detail') ?? textOf('title') ?? texts.errors.status(response.status);
  return new ApiProblem(response.status, textOf('code') ?? 'unknown', detail, textOf('field'));
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : texts.errors.unknown;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
