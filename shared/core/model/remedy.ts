import type { Requirement, Toleration } from '../../kubernetes/manifest.ts';

/**
 * A change to one field of one manifest: what the words of a reason propose, as data. A change of a requirement or of
 * what the pod asks is of all that is said of the label `key`, not of one entry.
 */
export type Edit =
  /** What the pool requires of the label; an empty list removes it. */
  | {
      readonly object: 'NodePool';
      readonly field: 'spec.template.spec.requirements';
      readonly key: string;
      readonly value: ReadonlyArray<Requirement>;
    }
  /** `minValues` of the pool's requirements on the label are removed. */
  | {
      readonly object: 'NodePool';
      readonly field: 'spec.template.spec.requirements.minValues';
      readonly key: string;
      readonly value: null;
    }
  | {
      readonly object: 'NodePool';
      readonly field: 'spec.template.metadata.labels';
      readonly key: string;
      readonly value: string | null;
    }
  /** `key` is a resource, `value` a quantity. */
  | { readonly object: 'NodePool'; readonly field: 'spec.limits'; readonly key: string; readonly value: string }
  | {
      readonly object: 'AKSNodeClass';
      readonly field: 'spec.imageFamily' | 'spec.fipsMode';
      readonly key: null;
      readonly value: string;
    }
  | { readonly object: 'AKSNodeClass'; readonly field: 'spec.osDiskSizeGB'; readonly key: null; readonly value: number }
  | { readonly object: 'Pod'; readonly field: 'spec.tolerations'; readonly key: null; readonly value: Toleration }
  /** What the pod asks of the label, in its node selector and in required node affinity; null removes it from both. */
  | { readonly object: 'Pod'; readonly field: 'spec.nodeSelector'; readonly key: string; readonly value: string | null }
  /** `key` is a resource. The requests of all containers together come to `value`, a quantity; null removes them. */
  | {
      readonly object: 'Pod';
      readonly field: 'spec.containers.resources.requests';
      readonly key: string;
      readonly value: string | null;
    };

/** Changes that together do what is wanted. */
export type Remedy = ReadonlyArray<Edit>;
