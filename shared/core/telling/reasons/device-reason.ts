import { takes } from '../../devices/allocate.ts';
import type { Pod } from '../../model/cluster.ts';
import type { DeviceReason } from '../../model/left-reason.ts';
import type { CompiledShape } from '../../placing/state/compile-shape.ts';
import { hasDeviceClaims, type PodClaim } from '../../devices/device-claims.ts';
import { allocateFor, allotOnNode, type DeviceState } from '../../placing/state/device-state.ts';
import { offerOn } from '../../placing/one-by-one/devices-on-claims.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import { emptyClaim } from '../../placing/state/open-claim.ts';
import type { Workspace } from '../../placing/state/workspace.ts';

/** Why a pod of the shape gets no devices; null when its devices are not what keeps it out. */
export function deviceReason(workspace: Workspace, shape: CompiledShape): DeviceReason | null {
  if (!hasDeviceClaims(shape.shape.spec)) return null;
  const { devices } = workspace;
  if (devices === null) return { kind: 'claims-ignored', nodePool: null };
  const pod = leftPod(workspace, shape);
  if (pod === undefined) return null;
  const asked = devices.reader.claimsOf(pod);
  if (asked.kind === 'problem') {
    return { kind: 'resource-claim', nodePool: null, object: asked.object, why: asked.why };
  }
  const width = workspace.dimensions.names.length;
  if (workspace.pools.some((pool) => offerOn(devices, emptyClaim(pool, width, false), pod) !== null)) return null;
  const nodes = workspace.nodes.filter((node) => allotOnNode(devices, node, pod) !== null);
  if (nodes.length > 0) {
    return { kind: 'devices-elsewhere', nodePool: null, nodes: nodes.map(({ capacity }) => capacity.name) };
  }
  const bound = asked.claims.find(({ key }) => devices.holdings.has(key));
  if (bound !== undefined) return { kind: 'claim-elsewhere', nodePool: null, claim: bound.key };
  return shortage(devices, asked.claims);
}

/** Of the left pods of the shape the first by uid: one speaks for all. */
function leftPod({ input, nodes, claims }: Workspace, { index }: CompiledShape): Pod | undefined {
  const placed = new Set([...nodes, ...claims].flatMap(({ pods }) => pods));
  return input.cluster.pods
    .filter((pod) => pod.shape === index && !placed.has(pod) && !pod.running && !pod.deleting)
    .toSorted((a, b) => byCodeUnit(a.uid, b.uid))[0];
}

/** The first request that the cluster's devices cannot meet even by itself; else they cannot all together. */
function shortage(devices: DeviceState, claims: ReadonlyArray<PodClaim>): DeviceReason {
  const outcome = allocateFor(devices, claims, { pools: devices.pools, use: devices.use });
  if (outcome.kind === 'selector-error') return { kind: 'device-selector', nodePool: null, error: outcome.detail };
  if (outcome.kind === 'too-many-choices') return { kind: 'devices-search', nodePool: null };
  const all = devices.pools.flatMap((pool) => pool.devices);
  for (const { key, terms } of claims) {
    for (const { name, alternatives } of terms.requests) {
      const matching = all.filter((device) => alternatives.some((one) => takes(devices.matcher, one, device) === true));
      const free = matching.filter(({ id }) => !devices.use.whole.has(id)).length;
      const wanted = Math.max(
        1,
        Math.min(...alternatives.map(({ count }) => (count === 'all' ? matching.length : count))),
      );
      if (free >= wanted) continue;
      const classes = [...new Set(alternatives.map(({ deviceClass }) => deviceClass))];
      const found = { wanted, matching: matching.length, free };
      return { kind: 'devices-short', nodePool: null, claim: key, request: name, classes, ...found };
    }
  }
  return { kind: 'devices-together', nodePool: null };
}
