import type { Fields } from '../documents/converted-manifest.ts';
import { compact, fieldsOf, textOf, type Converted } from './converted.ts';
import { convertNodePool } from './convert-node-pool.ts';

/** A Provisioner of v1alpha5 as a NodePool. Source: Karpenter's guide of the migration to v1beta1. */
export function convertProvisioner(value: Fields): Converted {
  const { requirements, labels, annotations, taints, startupTaints, limits, weight, ...rest } = fieldsOf(value['spec']);
  const { ttlSecondsUntilExpired, kubeletConfiguration, providerRef, provider } = rest;
  return convertNodePool({
    metadata: value['metadata'],
    spec: compact({
      template: {
        metadata: compact({ labels, annotations }),
        spec: compact({
          requirements: requirements ?? [],
          taints,
          startupTaints,
          kubelet: kubeletConfiguration,
          nodeClassRef: toRef(providerRef, provider),
          expireAfter: typeof ttlSecondsUntilExpired === 'number' ? `${ttlSecondsUntilExpired}s` : 'Never',
        }),
      },
      limits: fieldsOf(limits)['resources'],
      weight,
      disruption: toDisruption(rest),
    }),
  });
}

function toRef(providerRef: unknown, provider: unknown): Fields | undefined {
  const { name, kind } = fieldsOf(providerRef);
  if (providerRef === undefined && provider === undefined) return undefined;
  return { name: textOf(name) ?? 'default', kind: kind ?? 'AWSNodeTemplate' };
}

/** Without either setting a Provisioner never removed a node. */
function toDisruption({ consolidation, ttlSecondsAfterEmpty }: Fields): Fields {
  if (fieldsOf(consolidation)['enabled'] === true) {
    return { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' };
  }
  const after = typeof ttlSecondsAfterEmpty === 'number' ? `${ttlSecondsAfterEmpty}s` : 'Never';
  return { consolidationPolicy: 'WhenEmpty', consolidateAfter: after };
}
