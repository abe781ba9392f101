import type { PlannedReplacement } from '../../core/disruption/plan/disruption-plan.ts';
import type { ProvisioningInput } from '../../core/model/provisioning-input.ts';
import { labelKey } from '../../kubernetes/labels.ts';
import type { NodePool } from '../../kubernetes/manifest.ts';
import type { Gathered } from '../gather/gather.ts';
import { makePlan } from '../plan/make-plan.ts';
import type { Ports } from '../ports/ports.ts';

/**
 * Is there room for all of these pods in the cluster of `input` and what a pool with a fixed number of nodes makes in
 * place of one that goes? That pool makes it for nobody in particular, so that no plan of provisioning says so. `uids`:
 * of pods that have no node in `input`.
 */
export function haveRoomBeside(
  ports: Ports,
  gathered: Gathered,
  input: ProvisioningInput,
  { successor, uids }: { readonly successor: PlannedReplacement; readonly uids: ReadonlySet<string> },
): boolean {
  const { cluster } = input;
  const nodePools = cluster.nodePools.flatMap((pool) =>
    pool.metadata.name === successor.nodePool ? onlyAs(pool, successor) : [],
  );
  const { plan } = makePlan(ports, gathered, { ...input, cluster: { ...cluster, nodePools } });
  // Others that wait have their room elsewhere, which is none for these.
  return plan.left.every(({ pod }) => !uids.has(pod.uid)) && plan.claims.length <= 1;
}

/** A pool like any other, whose nodes can be this one only. */
function onlyAs(pool: NodePool, { instanceType, zone, capacityType }: PlannedReplacement): NodePool {
  const { replicas: _, ...spec } = pool.spec;
  const own = spec.template.spec.requirements.map(({ minValues: __, ...requirement }) => requirement);
  const requirements = [
    ...own,
    { key: labelKey.instanceType, operator: 'In', values: [instanceType] },
    { key: labelKey.zone, operator: 'In', values: [zone] },
    { key: labelKey.capacityType, operator: 'In', values: [capacityType] },
  ] as const;
  return {
    ...pool,
    spec: { ...spec, template: { ...spec.template, spec: { ...spec.template.spec, requirements } } },
  };
}
