/** What the settings of connections need of each other. Each refusal is one line that says what to change. */
import type { Config } from './config.ts';
import { ConfigError, givenAs } from './config-sources.ts';

export function requireConnectionParts(config: Config): void {
  const { tlsCertificate, tlsKey, proxyProtocol, trustedProxies } = config;
  if ((tlsCertificate === undefined) !== (tlsKey === undefined)) {
    const [name, value] =
      tlsCertificate === undefined
        ? (['tlsKey', tlsKey] as const)
        : (['tlsCertificate', tlsCertificate] as const);
    const other = name === 'tlsKey' ? 'TERSE_TLS_CERTIFICATE' : 'TERSE_TLS_KEY';
    throw new ConfigError(`${givenAs(name, config.sources[name], value!, config.config)} needs ${other} too`);
  }
  if (!proxyProtocol) return;
  const given = givenAs('proxyProtocol', config.sources.proxyProtocol, 'on', config.config);
  if (trustedProxies.length === 0) {
    throw new ConfigError(`${given} needs TERSE_TRUSTED_PROXIES: nobody else is believed who the client is`);
  }
  // What introduces the client comes before what is encrypted, and the socket reads either one or the other.
  if (tlsCertificate !== undefined) {
    throw new ConfigError(
      `${given} is not allowed with TERSE_TLS_CERTIFICATE: let the proxy end TLS, or speak TLS here without it`,
    );
  }
}
