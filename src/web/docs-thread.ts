/** The entry point of a thread that renders the API reference once and ends: redirects must not wait for it. */
import type { OpenApiDocument } from './api-reference.ts';
import { docsPage } from './docs-page.ts';

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<OpenApiDocument>) => self.postMessage(docsPage(data));
