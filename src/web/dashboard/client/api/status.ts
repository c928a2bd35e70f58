/** The call of operators. */
import { request } from './request.ts';

export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ServerStatus {
  readonly version: string;
  readonly at: string;
  readonly startedAt: string;
  readonly parts: Readonly<Record<string, boolean>>;
  readonly metrics: readonly {
    readonly name: string;
    readonly help: string;
    readonly samples: readonly MetricSample[];
  }[];
}

export const readStatus = (signal: AbortSignal): Promise<ServerStatus> =>
  request('GET', '/api/v1/status', { signal });
