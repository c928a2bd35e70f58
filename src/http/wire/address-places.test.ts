import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { AddressPlaces, type Network } from './address-places.ts';

const ipv4 = (name: string): Network => ({ host: name, site: name });
const networks: readonly Network[] = [
  ipv4('192.0.2.1'),
  ipv4('192.0.2.2'),
  { host: '2001:db8:1:1::/64', site: '2001:db8:1::/48' },
  { host: '2001:db8:1:2::/64', site: '2001:db8:1::/48' },
  { host: '2001:db8:2:1::/64', site: '2001:db8:2::/48' },
];

test('counts, shares and the largest site are those of a plain list, whatever comes and goes', () => {
  const step = fc.record({ network: fc.constantFrom(...networks), leaves: fc.boolean(), index: fc.nat(50) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const places = new AddressPlaces<number>(50);
      let list: { readonly id: number; readonly network: Network }[] = [];
      for (const [id, { network, leaves, index }] of steps.entries()) {
        const leaving = leaves ? list[index] : undefined;
        if (leaving === undefined) {
          places.add(id, network);
          list.push({ id, network });
        } else {
          places.remove(leaving.id);
          list = list.filter(entry => entry !== leaving);
        }
        expect(places.size).toBe(list.length);
        const bySite = Map.groupBy(list, entry => entry.network.site);
        for (const { host, site } of networks) {
          const ofSite = bySite.get(site) ?? [];
          const ofHost = ofSite.filter(entry => entry.network.host === host);
          expect(places.countAt(site)).toBe(ofSite.length);
          const isSiteFull = host !== site && ofSite.length >= 15;
          const crowd = ofHost.length >= 10 ? ofHost : isSiteFull ? ofSite : undefined;
          const found = places.crowdOf({ host, site }, 20);
          expect(found && [...found]).toEqual(crowd?.map(entry => entry.id));
        }
        expect(places.largest.size).toBe(Math.max(0, ...[...bySite.values()].map(({ length }) => length)));
      }
    }),
  );
});

test('every network may hold one, however few there are', () => {
  const places = new AddressPlaces<string>(1);
  expect(places.crowdOf(networks[0]!, 1)).toBeUndefined();
  places.add('a', networks[0]!);
  expect(places.crowdOf(networks[0]!, 1)?.size).toBe(1);
  expect(places.crowdOf(networks[2]!, 1)).toBeUndefined();
});

test('removing a holder without a slot changes nothing', () => {
  const places = new AddressPlaces<string>(50);
  places.add('a', networks[2]!);
  places.remove('b');
  places.remove('a');
  places.remove('a');
  expect(places.size).toBe(0);
  expect(places.largest.size).toBe(0);
});
