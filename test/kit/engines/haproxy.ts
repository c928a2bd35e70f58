/** Real HAProxy for tests, which passes connections on without reading them and introduces each client. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RawConnection } from '../raw-http.ts';
import { EngineProcess, startEngine } from './engine-process.ts';
import { thingOf } from './found.ts';
import { findHaproxy } from './haproxy-programs.ts';

export interface HaproxyOptions {
  /** Where connections go, such as `127.0.0.1:8080`. */
  readonly target: string;
  /** The version of the PROXY protocol that it speaks. */
  readonly version: 1 | 2;
}

export function startHaproxy(options: HaproxyOptions): Promise<HaproxyProcess> {
  return startEngine('haproxy', (folder, port) => new HaproxyProcess(folder, port, options));
}

class HaproxyProcess extends EngineProcess {
  readonly url: string;

  constructor(folder: string, port: number, { target, version }: HaproxyOptions) {
    const { program, env } = thingOf(findHaproxy());
    const url = `http://127.0.0.1:${port}`;
    const configuration = join(folder, 'haproxy.cfg');
    writeFileSync(
      configuration,
      `defaults
  mode tcp
  timeout connect 5s
  timeout client 30s
  timeout server 30s
listen terse
  bind 127.0.0.1:${port}
  server terse ${target} ${version === 1 ? 'send-proxy' : 'send-proxy-v2'}
`,
    );
    super(folder, {
      name: 'HAProxy',
      command: [program, '-f', configuration, '-db'],
      env,
      stopSignal: 'SIGTERM',
      isReady: async () => {
        const client = await RawConnection.open(url);
        client.abandon();
        return true;
      },
    });
    this.url = url;
  }
}
