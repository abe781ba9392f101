import type { Nomination } from '../../model/plan.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import { initializedNodes } from '../../present/initialized-nodes.ts';
import type { Instant } from '../../quantity/units.ts';
import { parseTimestamp } from '../../quantity/utc-time.ts';
import { STARTED_MS } from '../brakes/worse-than-before.ts';
import { candidatesOf, cordoned } from './begun.ts';

/**
 * `left`, which is `present` without nodes that go, where nodes that should be in use by now, and are not, take no
 * pods: a startup taint that nobody takes off would keep a node that must go for ever, as its pods would be sent there
 * and never let in. Pods that wait at present and are promised room there, or are nominated there by `nominations`,
 * stay with it, and are no part of what is returned.
 */
export function withoutStalled(
  left: ProvisioningInput,
  { cluster: { pods: present } }: ProvisioningInput,
  now: Instant,
  nominations: ReadonlyArray<Nomination> = [],
): ProvisioningInput {
  const { cluster, inFlight } = left;
  const inUse = initializedNodes(cluster);
  const stalled = candidatesOf(cluster).filter(({ claim, node }) => {
    const bornMs = parseTimestamp(claim.metadata.creationTimestamp) ?? Infinity;
    return !inUse.has(node.metadata.name) && bornMs + STARTED_MS <= now;
  });
  if (stalled.length === 0) return left;
  const names = new Set(stalled.flatMap(({ claim, node }) => [claim.metadata.name, node.metadata.name]));
  const promised = new Set([...names].flatMap((name) => inFlight.get(name)?.pods ?? []));
  const waiting = present.filter(({ uid, nodeName }) => nodeName === null && promised.has(uid));
  const nominated = nominations.flatMap(({ target, pods }) => (names.has(target.name) ? pods : []));
  const staying = new Set([...waiting, ...nominated].map(({ uid }) => uid));
  const pods = cluster.pods.filter(({ uid }) => !staying.has(uid));
  return { ...left, cluster: { ...cluster, pods, nodes: cordoned(cluster.nodes, names) } };
}
