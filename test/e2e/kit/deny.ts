import { isApiError } from '../../../sandbox/kubernetes/client/connection.ts';
import type { World } from './world.ts';

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const BINDINGS = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';

/** What a ValidatingAdmissionPolicy denies. */
export interface Denied {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  /** With its subresource, such as `pods/eviction`. */
  readonly resource: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** In CEL, what is allowed. */
  readonly allowed: string;
}

/**
 * Has the API server deny what the policy does not allow; resolves once it denies what `breaking` tries. Answers how to
 * lift it.
 */
export async function deny(
  world: World,
  denied: Denied,
  breaking: () => Promise<unknown>,
): Promise<() => Promise<void>> {
  const { name, group, version, resource, operation, allowed } = denied;
  await world.api.create(POLICIES, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [group], apiVersions: [version], operations: [operation], resources: [resource] }],
      },
      validations: [{ expression: allowed, message: 'this one is denied by a test' }],
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
  return () => lift(world, name);
}

/** Takes a policy away again. */
export async function lift(world: World, name: string): Promise<void> {
  await world.api.remove(`${BINDINGS}/${name}`, {});
  await world.api.remove(`${POLICIES}/${name}`, {});
}
