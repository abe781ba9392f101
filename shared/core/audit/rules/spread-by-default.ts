import type { PodShape } from '../../model/cluster.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';

/** Kinds of controllers that Kubernetes gives a default spread. */
const CONTROLLERS = new Set(['ReplicaSet', 'StatefulSet', 'ReplicationController']);

/**
 * The shapes of the input as the audit judges them: a pod without a spread of its own has the policy's, among the pods
 * that the same controller made. Written for the audit alone.
 */
export function auditedShapes({ cluster, policy }: ProvisioningInput): ReadonlyArray<PodShape> {
  if (policy.defaultSpread.length === 0) return cluster.shapes;
  return cluster.shapes.map((shape): PodShape => {
    const made = shape.owner !== null && CONTROLLERS.has(shape.owner.kind) ? shape.owner.uid : null;
    if (made === null) return shape;
    // A label key has no capital letters before its slash, so this one is nobody's.
    const key = 'Controller/uid';
    const own = shape.spec.topologySpreadConstraints ?? [];
    const given = policy.defaultSpread.map((one) => ({ ...one, labelSelector: { matchLabels: { [key]: made } } }));
    const topologySpreadConstraints = own.length === 0 ? given : own;
    return { ...shape, labels: { ...shape.labels, [key]: made }, spec: { ...shape.spec, topologySpreadConstraints } };
  });
}
