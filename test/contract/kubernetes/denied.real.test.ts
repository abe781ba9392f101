import { describe, expect, test } from 'vitest';
import { RefusedError } from '../../../shared/ports/errors.ts';
import type { Kubernetes } from '../../../shared/ports/kubernetes.ts';
import { eventually, startReal } from './cases/api-under-test.ts';
import { portOn } from './port-on.ts';
import { startedApi } from './started-api.ts';

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const named = (name: string): { readonly name: string; readonly namespace: string } => ({ name, namespace: 'default' });

/**
 * What a real API server says of a write that a policy denies is read as such, with every status that a policy may
 * choose.
 */
describe.skipIf(assets === '')('the real kube-apiserver with a policy', () => {
  const api = startedApi(() => startReal(assets, false));

  /** Has Leases whose name begins with `name` denied, with this reason; resolves once they are. */
  const deny = async (name: string, reason: string | null): Promise<Kubernetes> => {
    const expression = `!request.name.startsWith('${name}') && (object == null || !object.metadata.name.startsWith('${name}'))`;
    const rule = { apiGroups: ['coordination.k8s.io'], apiVersions: ['v1'], resources: ['leases'] };
    const validation = { expression, message: 'not this one', ...(reason === null ? {} : { reason }) };
    const policy = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: { resourceRules: [{ ...rule, operations: ['CREATE', 'UPDATE', 'DELETE'] }] },
        validations: [validation],
      },
    };
    const kubernetes = await portOn(api());
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: named(`${name}-there`), spec: {} };
    expect(await kubernetes.create('Lease', lease)).toMatchObject({ kind: 'created' });
    const made = await api().send('POST', `${ADMISSION}/validatingadmissionpolicies`, { body: policy });
    expect(made.status).toBe(201);
    const binding = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    };
    await api().send('POST', `${ADMISSION}/validatingadmissionpolicybindings`, { body: binding });
    const path = `/apis/coordination.k8s.io/v1/namespaces/default/leases?dryRun=All`;
    await eventually(
      () => api().send('POST', path, { body: { ...lease, metadata: named(`${name}-tried`) } }),
      ({ status }) => status >= 400,
    );
    return kubernetes;
  };

  test.for([
    ['invalid', null],
    ['forbidden', 'Forbidden'],
    ['too-large', 'RequestEntityTooLarge'],
  ] as const)(
    'that denies as %s: what is created, changed and deleted is refused, and by whom',
    async ([name, reason]) => {
      const kubernetes = await deny(name, reason);
      const policy = `ValidatingAdmissionPolicy '${name}'`;
      const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: named(`${name}-new`), spec: {} };
      expect(await kubernetes.create('Lease', lease)).toMatchObject({
        kind: 'refused',
        refusal: { policy, act: 'create' },
      });
      const there = named(`${name}-there`);
      const patch = { spec: { holderIdentity: 'x' } };
      expect(await kubernetes.patch('Lease', there, patch)).toMatchObject({ kind: 'refused', refusal: { policy } });
      for (const isTrial of [true, false]) {
        const failure = await kubernetes.delete('Lease', there, { isTrial }).catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(RefusedError);
        expect(failure).toMatchObject({
          refusal: { policy, act: 'delete', reason: expect.stringContaining('not this one') },
        });
      }
    },
  );

  test('and a right that is missing is no object’s matter: it is retryable, and says what to look at', async () => {
    const kubernetes = await portOn(api());
    const asNobody = await api().send('GET', '/api/v1/nodes/a', { headers: { 'impersonate-user': 'nobody' } });
    expect([asNobody.status, asNobody.body.kind]).toEqual([403, 'Status']);
    const { isMissingRight } = await import('../../../shared/adapters/kubernetes/policy-in.ts');
    expect(isMissingRight(asNobody.body.message)).toBe(true);
    expect(await kubernetes.serverVersion()).toMatch(/^1\./);
  });

  test('and what the API server’s own rules refuse is refused by no policy', async () => {
    const kubernetes = await portOn(api());
    const odd = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: named('Odd Name'), spec: {} };
    expect(await kubernetes.create('Lease', odd)).toMatchObject({ kind: 'refused', refusal: { policy: null } });
  });
});
