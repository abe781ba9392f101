import { expect, test } from 'vitest';
import { sinceNoticeMs, withNotices } from '../../../../shared/app/facts/replacing.ts';
import type { Snapshot } from '../../../../shared/contract/snapshot/parse.ts';
import type { NodeClaim } from '../../../../shared/kubernetes/manifest.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { plannedClaim } from '../../../kit/core/build.ts';
import { START } from '../../../kit/app/small-cluster.ts';

const OFFERING = {
  instanceType: 'Standard_D2_v5',
  zone: 'westeurope-1',
  capacityType: 'spot',
  price: microUsdPerHour(1),
} as const;

const iso = (ms: number): string => new Date(ms).toISOString();

function claim(name: string, interruption: string | null): NodeClaim {
  const annotations = interruption === null ? {} : { 'nodewright.dev/interruption': interruption };
  return { metadata: { name, annotations }, spec: { requirements: [] } } as unknown as NodeClaim;
}

const pod = (uid: string, nodeName: string | null, createdAtMs = START): Snapshot['pods'][number] =>
  ({ uid, name: uid, nodeName, createdAtMs, deleting: false }) as Snapshot['pods'][number];

const early = `preempt by ${iso(START + 30_000)} since ${iso(START + 250)}`;
const late = `preempt by ${iso(START + 60_000)} since ${iso(START + 9_000)}`;
const nodeClaims = [claim('a', early), claim('b', late), claim('c', null)];

/**
 * Since when a claim planned for these pods is needed, in milliseconds after the start; null where it replaces nothing.
 */
function since(pods: ReadonlyArray<Snapshot['pods'][number]>, ...planned: ReadonlyArray<string>): number | null {
  const references = planned.map((uid) => ({ name: `default/${uid}`, uid }));
  const [stamped] = withNotices({ nodeClaims, pods }, [{ ...plannedClaim(OFFERING), pods: references }]);
  const at = stamped?.annotations['nodewright.dev/noticed'];
  return at === undefined ? null : Date.parse(at) - START;
}

test('a claim for a pod that Azure’s notice drives out is needed since that notice, the earliest of several', () => {
  const pods = [pod('x', 'aks-a'), pod('y', 'aks-b')];
  expect([since(pods, 'x'), since(pods, 'y'), since(pods, 'y', 'x')]).toEqual([250, 9_000, 250]);
});

test('a pod that came after a notice, within what one lasts, counts as a successor, and one that waited before does not', () => {
  const pods = [
    pod('old', null, START - 2_000),
    pod('same-second', null, START),
    pod('between', null, START + 30_000),
    pod('after-both', null, START + 35_000),
    pod('late', null, START + 40_000),
  ];
  const found = pods.map(({ uid }) => since(pods, uid));
  expect(found).toEqual([null, 250, 250, 9_000, null]);
});

test('pods on other nodes, or of no notice at all, make it replace nothing', () => {
  const pods = [pod('z', 'aks-c')];
  expect(['z', 'unknown'].map((uid) => since(pods, uid))).toEqual([null, null]);
  const planned = [plannedClaim(OFFERING)];
  expect(withNotices({ nodeClaims: [claim('c', null)], pods: [pod('new', null)] }, planned)).toBe(planned);
});

test('a claim says how long ago that was, and one that replaces nothing does not', () => {
  const noticed = { metadata: { name: 'n', annotations: { 'nodewright.dev/noticed': iso(START) } } };
  expect(sinceNoticeMs(noticed as unknown as NodeClaim, START + 4_321)).toBe(4_321);
  expect(sinceNoticeMs(claim('c', null), START)).toBeNull();
});
