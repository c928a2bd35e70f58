/**
 * Writes a small MaxMind database, so that tests can have cities, IPv4-only files and records of every shape without
 * shipping third-party data. Follows the published format: a binary tree of 24-bit records, 16 zero bytes, the data,
 * and the metadata behind its marker.
 */
export type FakeRecord = string | number | readonly FakeRecord[] | { readonly [key: string]: FakeRecord };

interface TreeNode {
  readonly children: [TreeNode | number | undefined, TreeNode | number | undefined];
}

export function fakeMmdb(
  ipVersion: 4 | 6,
  networks: readonly (readonly [bits: string, record: FakeRecord])[],
): Buffer {
  const root: TreeNode = { children: [undefined, undefined] };
  const data: Buffer[] = [];
  let dataLength = 0;
  for (const [bits, record] of networks) {
    place(root, bits, dataLength);
    const encoded = encode(record);
    data.push(encoded);
    dataLength += encoded.length;
  }

  const nodes: TreeNode[] = [];
  collect(root, nodes);
  const tree = Buffer.alloc(nodes.length * 6);
  nodes.forEach((node, index) => {
    node.children.forEach((child, side) => {
      const value =
        child === undefined
          ? nodes.length
          : typeof child === 'number'
            ? nodes.length + 16 + child
            : nodes.indexOf(child);
      tree.writeUIntBE(value, index * 6 + side * 3, 3);
    });
  });
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1,
    database_type: 'Fake',
    ip_version: ipVersion,
    node_count: nodes.length,
    record_size: 24,
  });
  const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
  return Buffer.concat([tree, Buffer.alloc(16), ...data, marker, metadata]);
}

/** The bits of an IPv4 network, below 96 zeros in a tree of IPv6. */
export function ipv4Bits(address: string, length: number, ipVersion: 4 | 6): string {
  const bits = address
    .split('.')
    .map(part => Number(part).toString(2).padStart(8, '0'))
    .join('');
  return (ipVersion === 6 ? '0'.repeat(96) : '') + bits.slice(0, length);
}

function place(root: TreeNode, bits: string, dataOffset: number): void {
  let node = root;
  for (const [index, bit] of [...bits].entries()) {
    const side = Number(bit) as 0 | 1;
    if (index === bits.length - 1) {
      node.children[side] = dataOffset;
      return;
    }
    const next = node.children[side];
    if (typeof next === 'number') throw new Error('networks must not overlap');
    node.children[side] = next ?? { children: [undefined, undefined] };
    node = node.children[side] as TreeNode;
  }
}

function collect(node: TreeNode, into: TreeNode[]): void {
  into.push(node);
  for (const child of node.children) if (typeof child === 'object') collect(child, into);
}

function encode(record: FakeRecord): Buffer {
  if (typeof record === 'string') {
    const text = Buffer.from(record);
    return Buffer.concat([control(2, text.length), text]);
  }
  if (typeof record === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(record);
    return Buffer.concat([control(6, 4), bytes]);
  }
  if (Array.isArray(record)) return Buffer.concat([arrayControl(record.length), ...record.map(encode)]);
  const entries = Object.entries(record);
  return Buffer.concat([
    control(7, entries.length),
    ...entries.flatMap(([key, value]) => [encode(key), encode(value)]),
  ]);
}

/** Sizes up to 28 are in the control byte, up to 284 in the byte after it. */
const control = (type: number, size: number): Buffer =>
  size < 29 ? Buffer.from([(type << 5) | size]) : Buffer.from([(type << 5) | 29, size - 29]);

/** A type above seven is in a separate byte, minus seven. */
const arrayControl = (size: number): Buffer => Buffer.from([size, 11 - 7]);
