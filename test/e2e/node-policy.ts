import { isApiError } from '../../sandbox/kubernetes/client/connection.ts';
import type { World } from './world.ts';

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
