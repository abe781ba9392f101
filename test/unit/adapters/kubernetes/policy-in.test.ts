import { describe, expect, test } from 'vitest';
import { isMissingRight, isNotReadyYet, policyIn } from '../../../../shared/adapters/kubernetes/policy-in.ts';

/** Messages as kube-apiserver 1.36, Gatekeeper and Kyverno write them. */
const messages = {
  gatekeeper:
    'admission webhook "validation.gatekeeper.sh" denied the request: [azurepolicy-k8sazurev1-x] tag owner is missing',
  kyverno:
    'admission webhook "validate.kyverno.svc-fail" denied the request: \n\nresource Node//aks-a was blocked due to the following policies',
  silent: 'admission webhook "a.b" denied the request without explanation',
  inCluster:
    "nodes \"aks-a\" is forbidden: ValidatingAdmissionPolicy 'no-taints' with binding 'all' denied request: failed expression: x",
  misconfigured:
    'nodes "aks-a" is forbidden: ValidatingAdmissionPolicy \'p\' denied request: failed to configure policy',
  right:
    'nodes "aks-a" is forbidden: User "0000-app" cannot patch resource "nodes" in API group "" at the cluster scope: User does not have access to the resource in Azure. Update role assignment to allow access.',
  path: 'forbidden: User "system:anonymous" cannot get path "/version"',
  starting: 'nodes "aks-a" is forbidden: not yet ready to handle request',
  quota: 'secrets "a" is forbidden: exceeded quota: few, requested: secrets=1, used: secrets=1, limited: secrets=1',
  failing: 'Internal error occurred: failed calling webhook "a.b": failed to call webhook: Post "https://x": EOF',
} as const;

describe('the message of the API server', () => {
  test.for([
    ['gatekeeper', "admission webhook 'validation.gatekeeper.sh'"],
    ['kyverno', "admission webhook 'validate.kyverno.svc-fail'"],
    ['silent', "admission webhook 'a.b'"],
    ['inCluster', "ValidatingAdmissionPolicy 'no-taints'"],
    ['misconfigured', "ValidatingAdmissionPolicy 'p'"],
    ['right', null],
    ['path', null],
    ['starting', null],
    ['quota', null],
    ['failing', null],
  ] as const)('of kind %s names who denies: %s', ([kind, policy]) => {
    expect(policyIn(messages[kind])).toBe(policy);
  });

  test('tells a right that is missing from all else', () => {
    const kinds = Object.entries(messages).filter(([, message]) => isMissingRight(message));
    expect(kinds.map(([kind]) => kind)).toEqual(['right', 'path']);
  });

  test('tells an API server that has just started from all else', () => {
    const kinds = Object.entries(messages).filter(([, message]) => isNotReadyYet(message));
    expect(kinds.map(([kind]) => kind)).toEqual(['starting']);
  });

  test('of a policy that quotes a missing right is of the policy', () => {
    const quoting = 'nodes "a" is forbidden: ValidatingAdmissionPolicy \'p\' denied request: User "b" cannot do this';
    expect([policyIn(quoting), isMissingRight(quoting)]).toEqual(["ValidatingAdmissionPolicy 'p'", false]);
  });
});
