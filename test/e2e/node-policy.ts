import { isApiError } from '../../sandbox/kubernetes/client/connection.ts';
import type { World } from './world.ts';

const CLOSING = 'nobody-closes-this-node';

const NODES = '/api/v1/nodes';
const POLICY = 'nodes-name-their-pool';
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const BINDINGS = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';

/** Refuses nodes that are created without the label of their pool; resolves once the API server does. */
export async function demandPoolLabel(world: World): Promise<void> {
  await world.api.create(POLICIES, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: POLICY },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nodes'] }],
      },
      validations: [{ expression: "has(object.metadata.labels) && 'karpenter.sh/nodepool' in object.metadata.labels" }],
    },
  });
  await world.api.create(BINDINGS, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: POLICY },
    spec: { policyName: POLICY, validationActions: ['Deny'] },
  });
  const bare = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'bare' } };
  await world.until('the policy is in force', async () => {
    const answer = await world.api.create(`${NODES}?dryRun=All`, bare).catch((error: unknown) => error);
    return isApiError(answer, 422) || isApiError(answer, 403);
  });
}

/** Takes the policy away again. */
export async function allowAnyNode(world: World): Promise<void> {
  await world.api.remove(`${BINDINGS}/${POLICY}`, {});
  await world.api.remove(`${POLICIES}/${POLICY}`, {});
}

/** Refuses the taint of a disruption on one node; resolves once the API server does. Answers how to take that away again. */
export async function forbidClosing(world: World, node: string): Promise<() => Promise<void>> {
  await world.api.create(POLICIES, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: CLOSING },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
      },
      validations: [
        {
          expression: `object.metadata.name != '${node}' || !has(object.spec.taints) || !object.spec.taints.exists(t, t.key == 'karpenter.sh/disrupted')`,
        },
      ],
    },
  });
  await world.api.create(BINDINGS, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: CLOSING },
    spec: { policyName: CLOSING, validationActions: ['Deny'] },
  });
  const closed = { spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } };
  await world.until('the policy is in force', async () => {
    const answer = await world.api
      .patch(`${NODES}/${node}?dryRun=All`, 'merge', closed)
      .catch((error: unknown) => error);
    return isApiError(answer, 422) || isApiError(answer, 403);
  });
  return async () => {
    await world.api.remove(`${BINDINGS}/${CLOSING}`, {});
    await world.api.remove(`${POLICIES}/${CLOSING}`, {});
  };
}
