/**
 * An address as text that cannot mislead: never a link by itself, direction fixed, and the host, which decides
 * where it leads, stands out. A host in another script is shown as the browser really asks for it.
 */
export function SafeAddress({ address }: { readonly address: string }) {
  const url = URL.parse(address);
  if (url === null) return <bdi class="address">{address}</bdi>;
  const rest = url.pathname + url.search + url.hash;
  return (
    <bdi class="address">
      <span>{`${url.protocol}//`}</span>
      <strong>{url.host}</strong>
      <span>{rest === '/' ? '' : rest}</span>
    </bdi>
  );
}
