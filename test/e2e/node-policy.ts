import { isApiError } from '../../sandbox/kubernetes/client/connection.ts';
import type { World } from './world.ts';

const NODES = '/api/v1/nodes';
const POOL_LABEL = 'nodes-name-their-pool';
const CLOSING = 'nobody-closes-this-node';
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const BINDINGS = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';

/** Refuses nodes that are created without the label of their pool; resolves once the API server does. */
export async function demandPoolLabel(world: World): Promise<void> {
  const bare = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'bare' } };
  const expression = "has(object.metadata.labels) && 'karpenter.sh/nodepool' in object.metadata.labels";
  await enforce(world, { name: POOL_LABEL, operation: 'CREATE', expression }, () =>
    world.api.create(`${NODES}?dryRun=All`, bare),
  );
}

/** Takes the policy away again. */
export async function allowAnyNode(world: World): Promise<void> {
  await lift(world, POOL_LABEL);
}

/** Refuses the taint of a disruption on one node; resolves once the API server does. Answers how to take that away again. */
export async function forbidClosing(world: World, node: string): Promise<() => Promise<void>> {
  const closed = { spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } };
  const expression = `object.metadata.name != '${node}' || !has(object.spec.taints) || !object.spec.taints.exists(t, t.key == 'karpenter.sh/disrupted')`;
  await enforce(world, { name: CLOSING, operation: 'UPDATE', expression }, () =>
    world.api.patch(`${NODES}/${node}?dryRun=All`, 'merge', closed),
  );
  return () => lift(world, CLOSING);
}

/** What nodes that are written so must meet. */
interface NodePolicy {
  readonly name: string;
  readonly operation: 'CREATE' | 'UPDATE';
  /** In CEL. */
  readonly expression: string;
}

/** Has the API server refuse what breaks the policy; resolves once it refuses what `breaking` tries. */
async function enforce(
  world: World,
  { name, operation, expression }: NodePolicy,
  breaking: () => Promise<unknown>,
): Promise<void> {
  await world.api.create(POLICIES, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: [operation], resources: ['nodes'] }],
      },
      validations: [{ expression }],
    },
  });
  await world.api.create(BINDINGS, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  await world.until('the policy is in force', async () => {
    const answer = await breaking().catch((error: unknown) => error);
    return isApiError(answer, 422) || isApiError(answer, 403);
  });
}

async function lift(world: World, name: string): Promise<void> {
  await world.api.remove(`${BINDINGS}/${name}`, {});
  await world.api.remove(`${POLICIES}/${name}`, {});
}
