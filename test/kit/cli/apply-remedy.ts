import type { PlanDocument } from '../../../cli/documents/plan-format.ts';
import { normalizeKey } from '../../../shared/kubernetes/labels.ts';

type Reason = PlanDocument['left'][number]['reasons'][number];
/** A remedy as a plan's public document has it. */
export type Remedy = Extract<Reason, { readonly remedies: unknown }>['remedies'][number];
type Edit = Remedy[number];

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: ReadonlyArray<string>;
  readonly minValues?: number;
}

interface Term {
  readonly matchExpressions?: ReadonlyArray<Requirement>;
  readonly matchFields?: ReadonlyArray<Requirement>;
}

/** A NodePool, its class and a pod with one container, as far as remedies change them. */
export interface Manifests {
  readonly pool: {
    readonly requirements: ReadonlyArray<Requirement>;
    readonly labels?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
    readonly taints?: ReadonlyArray<unknown>;
  };
  readonly nodeClass: Readonly<Record<string, unknown>>;
  readonly pod: {
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly required?: ReadonlyArray<Term>;
    readonly tolerations?: ReadonlyArray<unknown>;
    readonly requests: Readonly<Record<string, string>>;
  };
}

/** The manifests with a remedy done, word for word: nothing but the fields that it names changes. */
export function applyRemedy(manifests: Manifests, remedy: Remedy): Manifests {
  return remedy.reduce(applyEdit, manifests);
}

function applyEdit({ pool, nodeClass, pod }: Manifests, { object, field, key, value }: Edit): Manifests {
  const name = key ?? '';
  const isOther = (one: string): boolean => normalizeKey(one) !== name;
  const without = (map: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(map).filter(([one]) => isOther(one)));
  const withValue = (map: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> =>
    value === null ? without(map) : { ...without(map), [name]: value as string };
  switch (`${object} ${field}`) {
    case 'NodePool spec.template.spec.requirements': {
      const others = pool.requirements.filter((one) => isOther(one.key));
      return {
        pool: { ...pool, requirements: [...others, ...(value as ReadonlyArray<Requirement>)] },
        nodeClass,
        pod,
      };
    }
    case 'NodePool spec.template.spec.requirements.minValues': {
      const requirements = pool.requirements.map(({ minValues, ...one }) =>
        isOther(one.key) && minValues !== undefined ? { ...one, minValues } : one,
      );
      return { pool: { ...pool, requirements }, nodeClass, pod };
    }
    case 'NodePool spec.template.metadata.labels':
      return { pool: { ...pool, labels: withValue(pool.labels) }, nodeClass, pod };
    case 'NodePool spec.limits':
      return { pool: { ...pool, limits: withValue(pool.limits) }, nodeClass, pod };
    case 'AKSNodeClass spec.imageFamily':
    case 'AKSNodeClass spec.fipsMode':
    case 'AKSNodeClass spec.osDiskSizeGB':
      return { pool, nodeClass: { ...nodeClass, [field.replace('spec.', '')]: value }, pod };
    case 'Pod spec.tolerations':
      return { pool, nodeClass, pod: { ...pod, tolerations: [...(pod.tolerations ?? []), value] } };
    case 'Pod spec.nodeSelector': {
      const selector = withValue(pod.nodeSelector);
      const { required, ...rest } = pod;
      if (required === undefined) return { pool, nodeClass, pod: { ...rest, nodeSelector: selector } };
      const terms = required
        .map(({ matchExpressions = [], matchFields = [] }) => ({
          matchExpressions: matchExpressions.filter((one) => isOther(one.key)),
          matchFields: matchFields.filter((one) => isOther(one.key)),
        }))
        .filter(({ matchExpressions, matchFields }) => matchExpressions.length + matchFields.length > 0);
      const kept = terms.length === 0 ? {} : { required: terms };
      return { pool, nodeClass, pod: { ...rest, nodeSelector: selector, ...kept } };
    }
    case 'Pod spec.containers.resources.requests':
      return { pool, nodeClass, pod: { ...pod, requests: withValue(pod.requests) } };
    default:
      throw new Error(`no manifest has ${object} ${field}`);
  }
}

/** The manifests as they are given to the command. JSON is YAML. */
export function renderManifests({ pool, nodeClass, pod }: Manifests): ReadonlyArray<string> {
  const { requirements, labels, limits, taints } = pool;
  const { nodeSelector, required, tolerations, requests } = pod;
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: required } };
  return [
    {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'general' },
      spec: {
        limits,
        template: {
          metadata: { labels },
          spec: {
            nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
            requirements,
            taints,
          },
        },
      },
    },
    {
      apiVersion: 'karpenter.azure.com/v1beta1',
      kind: 'AKSNodeClass',
      metadata: { name: 'default' },
      spec: nodeClass,
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web' },
      spec: {
        nodeSelector,
        tolerations,
        ...(required === undefined ? {} : { affinity: { nodeAffinity } }),
        containers: [{ name: 'main', image: 'x', resources: { requests } }],
      },
    },
  ].map((one) => JSON.stringify(one));
}
