import { expect, test } from 'vitest';
import { POD_CLAIM_NAME, type ResourceClaim } from '../../../../../shared/kubernetes/device-manifest.ts';
import type { Pod } from '../../../../../shared/core/model/cluster.ts';
import { claimFinder } from '../../../../../shared/core/audit/devices/audited-claims.ts';
import { EMPTY_CLUSTER, pods, shape } from '../../../../kit/core/build.ts';
import { fromTemplates, template, using } from '../../../../kit/core/build-devices.ts';

const [first, second] = pods(0, 2);

/** A claim that was made for the pod, under the name that the pod has for it. */
function madeFor(pod: Pod | undefined, entry: string, name: string, namespace = 'default'): ResourceClaim {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: pod?.name ?? '', uid: pod?.uid ?? '' };
  return {
    metadata: {
      name,
      namespace,
      annotations: { [POD_CLAIM_NAME]: entry },
      ownerReferences: [owner],
    },
    spec: {},
  };
}

const named = (name: string, namespace?: string): ResourceClaim => ({
  metadata: namespace === undefined ? { name } : { name, namespace },
  spec: {},
});

function keyOf(resourceClaims: ReadonlyArray<ResourceClaim>, of: ReturnType<typeof shape>, pod = first) {
  const finder = claimFinder({ ...EMPTY_CLUSTER, resourceClaims, resourceClaimTemplates: [template('gpu')] });
  const [entry] = of.spec.resourceClaims ?? [];
  return pod === undefined ? null : (finder(pod, of, entry?.name ?? '')?.key ?? null);
}

const templated = shape(fromTemplates('gpu'));
const entryName = templated.spec.resourceClaims?.[0]?.name ?? '';

test('a pod’s claim is the one that was made for it, and not its sibling’s', () => {
  const claims = [madeFor(second, entryName, 'two'), madeFor(first, entryName, 'one')];
  expect(keyOf(claims, templated)).toBe('default/one');
  expect(keyOf(claims, templated, second)).toBe('default/two');
});

test('a claim that was made for the pod under another name, or stands elsewhere, is not the one', () => {
  const claims = [madeFor(first, 'other', 'one'), madeFor(first, entryName, 'two', 'elsewhere')];
  expect(keyOf(claims, templated)).toBe(`default/${first?.name}/${entryName}`);
});

test('of two claims that were made for a pod under one name the first counts', () => {
  expect(keyOf([madeFor(first, entryName, 'one'), madeFor(first, entryName, 'two')], templated)).toBe('default/one');
});

test('a claim that is named is looked for in the pod’s namespace, which is `default` where none is said', () => {
  const asked = (namespace: string) => shape(using('ours'), {}, namespace);
  expect(keyOf([named('ours', 'red'), named('ours')], asked('default'))).toBe('default/ours');
  expect(keyOf([named('ours', 'red'), named('ours')], asked('red'))).toBe('red/ours');
  expect(keyOf([named('ours', 'red')], asked('default'))).toBeNull();
});
