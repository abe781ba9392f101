import { isRecord } from '../../../shared/contract/api/schema/object-meta.ts';
import { parseQuantity } from '../../../shared/kubernetes/text/quantity.ts';
import {
  allOf,
  choice,
  fieldsOf,
  filledListOf,
  flag,
  listOf,
  mapOf,
  needed,
  quantities,
  text,
  wholeNumber,
  type Judge,
} from './judge.ts';

/**
 * What the API server would refuse in the parts of a pod's spec that a decision reads. A part that cannot be read must
 * be told: left out, it would place the pod where it may not be. Source: Kubernetes API 1.36.
 */

const withinLimits: Judge = (value, path, report) => {
  if (!isRecord(value) || !isRecord(value['requests']) || !isRecord(value['limits'])) return;
  for (const [name, limit] of Object.entries(value['limits'])) {
    const [wanted, most] = [amountOf(value['requests'][name]), amountOf(limit)];
    if (wanted !== null && most !== null && wanted > most) {
      report(`${path}.requests[${name}]`, 'is more than the limit', 'lower it, or raise the limit');
    }
  }
};

function amountOf(value: unknown): number | null {
  return typeof value === 'string' || typeof value === 'number' ? parseQuantity(value, 1000, 'up') : null;
}

const resources = allOf(
  fieldsOf({
    requests: quantities,
    limits: quantities,
    claims: listOf(fieldsOf({ name: needed(text), request: text })),
  }),
  withinLimits,
);

const container = fieldsOf({
  name: text,
  resources,
  ports: listOf(fieldsOf({ containerPort: wholeNumber(1), hostPort: wholeNumber(0), hostIP: text, protocol: text })),
  restartPolicy: text,
});

const nodeExpressions = listOf(
  fieldsOf({
    key: needed(text),
    operator: needed(choice('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt')),
    values: listOf(text),
  }),
);

const nodeTerm = fieldsOf({ matchExpressions: nodeExpressions, matchFields: nodeExpressions });

/** A selection of objects by their labels. */
export const labelSelector: Judge = fieldsOf({
  matchLabels: mapOf(text),
  matchExpressions: listOf(
    fieldsOf({
      key: needed(text),
      operator: needed(choice('In', 'NotIn', 'Exists', 'DoesNotExist')),
      values: listOf(text),
    }),
  ),
});

/** Terms of node selection, as in required node affinity and in volumes. */
export const nodeSelectorTerms: Judge = filledListOf(nodeTerm);

const podTerm = fieldsOf({
  topologyKey: needed(text),
  labelSelector,
  namespaces: listOf(text),
  namespaceSelector: labelSelector,
  matchLabelKeys: listOf(text),
  mismatchLabelKeys: listOf(text),
});

const podRules = fieldsOf({
  requiredDuringSchedulingIgnoredDuringExecution: listOf(podTerm),
  preferredDuringSchedulingIgnoredDuringExecution: listOf(
    fieldsOf({ weight: needed(wholeNumber(1)), podAffinityTerm: needed(podTerm) }),
  ),
});

const affinity = fieldsOf({
  nodeAffinity: fieldsOf({
    requiredDuringSchedulingIgnoredDuringExecution: fieldsOf({ nodeSelectorTerms: needed(nodeSelectorTerms) }),
    preferredDuringSchedulingIgnoredDuringExecution: listOf(
      fieldsOf({ weight: needed(wholeNumber(1)), preference: needed(nodeTerm) }),
    ),
  }),
  podAffinity: podRules,
  podAntiAffinity: podRules,
});

const toleration = fieldsOf({
  key: text,
  operator: choice('Exists', 'Equal', 'Lt', 'Gt', ''),
  value: text,
  effect: choice('NoSchedule', 'PreferNoSchedule', 'NoExecute', ''),
});

const domainsAsCondition: Judge = (value, path, report) => {
  if (!isRecord(value) || typeof value['minDomains'] !== 'number' || value['whenUnsatisfiable'] !== 'ScheduleAnyway')
    return;
  const message = 'is set, though whenUnsatisfiable is ScheduleAnyway';
  report(`${path}.minDomains`, message, 'remove it, or set whenUnsatisfiable to DoNotSchedule');
};

const spread = allOf(
  fieldsOf({
    maxSkew: needed(wholeNumber(1)),
    topologyKey: needed(text),
    whenUnsatisfiable: needed(choice('DoNotSchedule', 'ScheduleAnyway')),
    labelSelector,
    minDomains: wholeNumber(1),
    nodeAffinityPolicy: choice('Honor', 'Ignore'),
    nodeTaintsPolicy: choice('Honor', 'Ignore'),
    matchLabelKeys: listOf(text),
  }),
  domainsAsCondition,
);

/** What a PersistentVolumeClaim asks for. */
export const volumeClaimSpec: Judge = fieldsOf({ storageClassName: text, volumeName: text });

/** A pod's spec. */
export const podSpec: Judge = fieldsOf({
  containers: needed(filledListOf(container)),
  initContainers: listOf(container),
  overhead: quantities,
  resources,
  nodeName: text,
  nodeSelector: mapOf(text),
  affinity,
  tolerations: listOf(toleration),
  topologySpreadConstraints: listOf(spread),
  priority: wholeNumber(-(2 ** 31)),
  priorityClassName: text,
  runtimeClassName: text,
  schedulerName: text,
  schedulingGates: listOf(fieldsOf({ name: needed(text) })),
  hostNetwork: flag,
  volumes: listOf(
    fieldsOf({
      name: needed(text),
      persistentVolumeClaim: fieldsOf({ claimName: needed(text) }),
      ephemeral: fieldsOf({ volumeClaimTemplate: fieldsOf({ spec: volumeClaimSpec }) }),
    }),
  ),
  resourceClaims: listOf(fieldsOf({ name: needed(text), resourceClaimName: text, resourceClaimTemplateName: text })),
});

/** A pod template of a workload. */
export const podTemplate: Judge = fieldsOf({
  metadata: fieldsOf({ labels: mapOf(text), annotations: mapOf(text) }),
  spec: needed(podSpec),
});
